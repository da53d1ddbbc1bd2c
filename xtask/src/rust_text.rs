//! Rust source as text: separates code, comments and tests, and finds identifiers.
//!
//! A lexer for comments, strings, characters and identifiers only; it knows no grammar. Invariant: everything it
//! returns has the line breaks of the original, so line numbers stay valid.

/// The text with comments, strings and characters blanked out.
pub(crate) fn code(text: &str) -> String {
    blank(text, |kind| kind == Kind::Code)
}

/// The text with everything but comments blanked out.
pub(crate) fn comments(text: &str) -> String {
    blank(text, |kind| kind == Kind::Comment)
}

/// `code` with the bodies of `#[cfg(test)]` items blanked out as well.
pub(crate) fn shipped(code: &str) -> String {
    let mut out = String::new();
    let mut rest = code;
    while let Some(at) = test_attribute(rest) {
        let (before, item) = rest.split_at(at);
        out.push_str(before);
        let end = item_end(item);
        out.extend(item[..end].chars().map(blanked));
        rest = &item[end..];
    }
    out + rest
}

/// The names of modules declared `#[cfg(test)] mod name;`, whose files are tests.
pub(crate) fn test_modules(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = test_attribute(rest) {
        let (item, tail) = rest[at..].split_at(item_end(&rest[at..]));
        let name = item.rsplit(']').next().and_then(|declared| declared.trim().strip_prefix("mod ")?.strip_suffix(';'));
        found.extend(name);
        rest = tail;
    }
    found
}

/// The position of the next attribute that restricts an item to tests.
fn test_attribute(code: &str) -> Option<usize> {
    let found = code.match_indices("#[cfg(").find(|(at, _)| {
        let attribute = code[*at..].lines().next().unwrap_or_default();
        words(attribute).any(|(_, word, _)| word == "test") && !attribute.contains("not(test)")
    });
    found.map(|(at, _)| at)
}

/// Every identifier and keyword of `code`, with its line, counted from 1, and the text after it.
pub(crate) fn words(code: &str) -> impl Iterator<Item = (usize, &str, &str)> {
    code.lines().enumerate().flat_map(|(index, line)| {
        let mut rest = line;
        std::iter::from_fn(move || {
            let start = rest.find(is_word)?;
            let tail = &rest[start..];
            let end = tail.find(|c| !is_word(c)).unwrap_or(tail.len());
            rest = &tail[end..];
            Some((index + 1, &tail[..end], rest))
        })
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

fn blanked(c: char) -> char {
    if c == '\n' { c } else { ' ' }
}

fn blank(text: &str, keep: impl Fn(Kind) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut in_word = false;
    while !rest.is_empty() {
        let (kind, length) = token(rest, in_word);
        in_word = kind == Kind::Code && rest.starts_with(is_word);
        let (part, tail) = rest.split_at(length);
        if keep(kind) {
            out.push_str(part)
        } else {
            out.extend(part.chars().map(blanked))
        }
        rest = tail;
    }
    out
}

/// The kind and length of the token at the start of `rest`; code is returned one character at a time.
fn token(rest: &str, in_word: bool) -> (Kind, usize) {
    let first = rest.chars().next().map_or(0, char::len_utf8);
    if rest.starts_with("//") {
        return (Kind::Comment, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (Kind::Comment, block_comment(rest));
    }
    if rest.starts_with('"') {
        return (Kind::Literal, quoted(rest, 1, '"'));
    }
    if !in_word {
        let prefix = ["br", "cr", "r", "b", "c"].iter().find(|p| rest.starts_with(**p)).map_or(0, |p| p.len());
        let tail = &rest[prefix..];
        let hashes = tail.len() - tail.trim_start_matches('#').len();
        if prefix > 0 && rest[..prefix].contains('r') && tail[hashes..].starts_with('"') {
            let close = format!("\"{}", "#".repeat(hashes));
            let open = prefix + hashes + 1;
            let length = rest[open..].find(&close).map_or(rest.len(), |at| open + at + close.len());
            return (Kind::Literal, length);
        }
        if let Some(length) = character(rest) {
            return (Kind::Literal, length);
        }
    }
    (Kind::Code, first)
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        let tail = &rest.as_bytes()[at..];
        if tail.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if tail.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

fn quoted(rest: &str, open: usize, close: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(open) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == close => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

/// The length of a character literal; `None` if the quote opens a lifetime.
fn character(rest: &str) -> Option<usize> {
    let mut inner = rest.strip_prefix('\'')?.chars();
    match (inner.next()?, inner.next()) {
        ('\\', _) => Some(quoted(rest, 1, '\'')),
        (c, Some('\'')) => Some(c.len_utf8() + 2),
        _ => None,
    }
}

/// The end of the first item in `item`: its semicolon, or the brace that closes its body.
fn item_end(item: &str) -> usize {
    let mut depth = 0usize;
    for (at, c) in item.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    item.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_comments_are_not_code() {
        let text = "let a = \"unsafe \\\" x\"; // unsafe\nlet b = r#\"un\"safe\"#; /* a /* b */ unsafe */ c('\\'', '\"', b'x')";
        let code = code(text);
        assert!(!code.contains("unsafe"), "{code}");
        assert!(code.contains("let b") && code.contains("c("), "{code}");
        assert_eq!(code.lines().count(), 2);
        assert!(comments(text).contains("// unsafe") && !comments(text).contains("let"));
    }

    #[test]
    fn lifetimes_are_code() {
        assert_eq!(code("fn f<'a>(x: &'a str) {}"), "fn f<'a>(x: &'a str) {}");
    }

    #[test]
    fn test_items_are_not_shipped() {
        let text = "fn a() {}\n#[cfg(all(test, unix))]\nmod tests {\n fn b() { {} }\n}\nfn c() {}\n#[cfg(test)]\nmod more;\nfn d() {}\n#[cfg(not(test))]\nfn e() {}";
        let shipped = shipped(text);
        assert!(
            shipped.contains("fn a")
                && shipped.contains("fn c")
                && shipped.contains("fn d")
                && shipped.contains("fn e")
        );
        assert!(!shipped.contains("fn b") && !shipped.contains("more"));
        assert_eq!(shipped.lines().count(), text.lines().count());
        assert_eq!(test_modules(text), ["more"]);
    }

    #[test]
    fn words_carry_their_lines() {
        let found: Vec<_> = words("let park_it = 1;\nx.park();").map(|(line, word, _)| (line, word)).collect();
        assert_eq!(found, [(1, "let"), (1, "park_it"), (1, "1"), (2, "x"), (2, "park")]);
    }
}
