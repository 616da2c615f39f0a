//! The examples of `docs/format.md` are read as the formats that they are examples of.

use seriatim_history::{Format, ReadOptions, read_from, read_str};

#[test]
fn every_example_of_the_format_page_is_read() {
    let page = include_str!("../../../../docs/format.md");
    let mut examples = 0;
    for piece in page.split("\n```").skip(1).step_by(2) {
        let (name, text) = piece.split_once('\n').expect("an example under its format's name");
        if name == "console" {
            continue;
        }
        let format: Format = name.parse().unwrap_or_else(|error| panic!("{error}"));
        let named = ReadOptions { format: Some(format), ..ReadOptions::default() };
        let history = read_from(text.as_bytes(), name, named);
        let history = history.unwrap_or_else(|error| panic!("{error} in\n{text}"));
        let detected = read_str(text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
        assert_eq!(detected.tally(), history.tally(), "{text}");
        assert!(history.tally().vacuous().is_none(), "{text}");
        examples += 1;
    }
    assert_eq!(examples, 9);
}

#[test]
fn every_format_and_every_field_is_described() {
    let page = include_str!("../../../../docs/format.md");
    for (_, name) in Format::ALL {
        assert!(page.contains(&format!("| `{name}` |")), "{name}");
    }
    let error = read_str("{\"op\":\"a\",\"call\":1,\"latitude\":3}").unwrap_err().to_string();
    let (_, fields) = error.split_once("one of ").unwrap();
    let (fields, _) = fields.split_once(", found").unwrap();
    for field in fields.split(", ") {
        assert!(page.contains(&format!("`{field}`")), "{field}");
    }
}
