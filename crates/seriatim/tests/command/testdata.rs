//! The files in `testdata` come from where the manifest says: what was generated or converted by
//! the command is made again and must be the same.

use super::run::seriatim;
use std::path::Path;

#[test]
fn generated_and_converted_histories_are_made_again_as_they_are() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let manifest = std::fs::read_to_string(folder.join("manifest.tsv")).expect("a manifest");
    let mut made = 0;
    for row in manifest.lines().skip(1) {
        let (file, origin) = (row.split('\t').next(), row.split('\t').next_back());
        let (file, origin) = (file.expect("a file"), origin.expect("an origin"));
        let Some(arguments) = origin.strip_prefix("seriatim ") else { continue };
        let in_folder = |word: &str| match word.contains('/') {
            true => folder.join(word).display().to_string(),
            false => word.to_owned(),
        };
        let arguments: Vec<String> = arguments.split(' ').map(in_folder).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let expected = std::fs::read_to_string(folder.join(file)).expect("a history");
        assert!(seriatim(&arguments).exits(0).out == expected, "{file} is not: {origin}");
        made += 1;
    }
    assert!(made > 80, "{made} histories made");
}
