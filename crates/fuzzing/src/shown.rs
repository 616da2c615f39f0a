//! What is shown is text and nothing else.

/// Panics if a text that is to be shown holds a character that a terminal obeys.
pub fn is_text(text: &str, whereto: &str) {
    let found =
        text.chars().find(|character| character.is_control() && !"\n\t".contains(*character));
    assert_eq!(found, None, "a control character reaches {whereto}");
}
