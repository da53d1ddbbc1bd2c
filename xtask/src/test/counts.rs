//! How many tests passed and failed, read from what the test programs print.

/// Individual tests.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Counts {
    /// Those that passed.
    pub(super) passed: usize,
    /// Those that failed, or could not be started.
    pub(super) failed: usize,
}

/// Sums the `test result:` lines of `cargo test`.
pub(super) fn of_cargo(output: &str) -> Counts {
    let results = output.lines().filter_map(|line| line.trim().strip_prefix("test result:"));
    sum(results.flat_map(|result| result.split([';', '.'])))
}

/// Reads the closing line of pytest.
pub(super) fn of_pytest(output: &str) -> Counts {
    let closing = output.lines().rev().find_map(|line| {
        let (counts, _) = line.trim_matches(['=', ' ']).rsplit_once(" in ")?;
        counts.starts_with(|c: char| c.is_ascii_digit()).then_some(counts)
    });
    sum(closing.unwrap_or_default().split(','))
}

fn sum<'a>(parts: impl Iterator<Item = &'a str>) -> Counts {
    let mut counts = Counts::default();
    for part in parts {
        let mut words = part.split_whitespace();
        let (Some(number), Some(what)) = (words.next().and_then(|word| word.parse::<usize>().ok()), words.next())
        else {
            continue;
        };
        match what {
            "passed" => counts.passed += number,
            "failed" | "error" | "errors" => counts.failed += number,
            _ => {}
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_results_are_summed() {
        let output = "running 2 tests\ntest result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
                      test result: FAILED. 3 passed; 4 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.25s\n";
        assert_eq!(of_cargo(output), Counts { passed: 5, failed: 4 });
    }

    #[test]
    fn pytest_closing_lines_are_read() {
        let loud = "12 passed in a row\n======= 1 failed, 12 passed, 3 skipped, 2 errors in 0.50s =======\n";
        assert_eq!(of_pytest(loud), Counts { passed: 12, failed: 3 });
        assert_eq!(of_pytest("....\n4 passed, 1 xfailed in 61.50s (0:01:01)\n"), Counts { passed: 4, failed: 0 });
        assert_eq!(of_pytest("no tests ran in 0.01s\n"), Counts::default());
    }
}
