//! Prints `tests/python/rows.json`: what the tests in other languages must know of the pointwise rows, one a line.

use forerun_ops::{Place, Point, PointRow};

fn main() {
    let lines: Vec<String> = Point::ALL.iter().map(|point| line(point.row())).collect();
    println!("[\n{}\n]", lines.join(",\n"));
}

fn line(row: &PointRow) -> String {
    let place = match row.place {
        Place::Np => "np",
        Place::Npx => "npx",
        Place::Hidden => "hidden",
    };
    let (name, arity, class, off) = (row.name, row.arity, row.class, row.off);
    format!(r#"{{"name": "{name}", "arity": {arity}, "class": "{class:?}", "off": {off}, "place": "{place}"}}"#)
}
