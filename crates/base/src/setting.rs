//! Settings from the environment, read once at start-up. Invalid values are ignored with a warning.

use std::ops::RangeInclusive;

/// The source of settings, and where warnings about invalid ones go.
pub struct Settings<'a> {
    var: &'a dyn Fn(&str) -> Option<String>,
    complain: &'a dyn Fn(&str),
}

impl Settings<'static> {
    /// The environment of the process; warnings go to standard error.
    pub fn environment() -> Settings<'static> {
        Settings {
            var: &|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()),
            complain: &|text| eprintln!("forerun: {text}"),
        }
    }
}

impl<'a> Settings<'a> {
    /// Settings from another source.
    pub fn new(var: &'a dyn Fn(&str) -> Option<String>, complain: &'a dyn Fn(&str)) -> Settings<'a> {
        Settings { var, complain }
    }

    /// Reads a setting with `parse`; `None` if it is absent, empty or invalid.
    pub fn read<T>(&self, name: &str, wanted: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let value = (self.var)(name)?;
        let value = value.trim();
        if value.is_empty() {
            return None;
        }
        let parsed = parse(value);
        if parsed.is_none() {
            (self.complain)(&format!("{name}={value} is ignored: it must be {wanted}"));
        }
        parsed
    }

    /// An integer of at least `least`.
    pub fn number(&self, name: &str, least: usize) -> Option<usize> {
        let wanted = format!("an integer >= {least}");
        self.read(name, &wanted, |value| value.parse().ok().filter(|number| *number >= least))
    }

    /// An integer within bounds.
    pub fn number_within(&self, name: &str, range: RangeInclusive<usize>) -> Option<usize> {
        let wanted = format!("an integer from {} to {}", range.start(), range.end());
        self.read(name, &wanted, |value| value.parse().ok().filter(|number| range.contains(number)))
    }

    /// A switch: `0` or `1`.
    pub fn switch(&self, name: &str) -> Option<bool> {
        self.read(name, "0 or 1", |value| match value {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        })
    }

    /// A setting of another program, for which values that are invalid here may be valid.
    pub fn foreign(&self, name: &str) -> Option<String> {
        (self.var)(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn invalid_settings_are_ignored_and_reported() {
        let var = |name: &str| match name {
            "A" => Some(" 3 ".to_owned()),
            "B" => Some("many".to_owned()),
            "C" => Some(String::new()),
            _ => None,
        };
        let complaints = RefCell::new(Vec::new());
        let complain = |text: &str| complaints.borrow_mut().push(text.to_owned());
        let settings = Settings::new(&var, &complain);
        assert_eq!((settings.number("A", 1), settings.number("C", 1), settings.number("D", 1)), (Some(3), None, None));
        assert!(complaints.borrow().is_empty());
        assert_eq!((settings.number_within("A", 1..=3), settings.number_within("A", 4..=9)), (Some(3), None));
        assert_eq!(complaints.take(), ["A=3 is ignored: it must be an integer from 4 to 9"]);
        assert_eq!((settings.number("B", 0), settings.switch("B"), settings.number("A", 4)), (None, None, None));
        let expected = [
            "B=many is ignored: it must be an integer >= 0",
            "B=many is ignored: it must be 0 or 1",
            "A=3 is ignored: it must be an integer >= 4",
        ];
        assert_eq!(*complaints.borrow(), expected);
    }
}
