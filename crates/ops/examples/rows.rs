//! Prints `tests/python/rows.json`: the properties of pointwise rows that tests in other languages need, one row per
//! line.

use forerun_ops::{Namespace, Point, PointRow};

fn main() {
    let lines: Vec<String> = Point::ALL.iter().map(|point| line(point.row())).collect();
    println!("[\n{}\n]", lines.join(",\n"));
}

fn line(row: &PointRow) -> String {
    let place = match row.place {
        Namespace::Np => "np",
        Namespace::Npx => "npx",
        Namespace::Hidden => "hidden",
    };
    let (name, arity, class, off) = (row.name, row.arity, row.class, row.off);
    format!(r#"{{"name": "{name}", "arity": {arity}, "class": "{class:?}", "off": {off}, "place": "{place}"}}"#)
}
