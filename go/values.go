package seriatim

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// Two values that JSON writes alike are one value to the command, so that a history with one in the
// place of the other would pass. JSON does that silently in two places: bytes that are no UTF-8 all
// become U+FFFD, and fields of a struct that are not exported are left out, which makes all errors
// of the standard library `{}`. Such values are refused. A type with a MarshalJSON or MarshalText, and
// a field with a tag, say themselves what they want to tell.

var (
	jsonMarshaler = reflect.TypeOf((*json.Marshaler)(nil)).Elem()
	textMarshaler = reflect.TypeOf((*encoding.TextMarshaler)(nil)).Elem()
)

// told gives a value as JSON, or says what of it JSON would not tell.
func told(value any) (json.RawMessage, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	// After Marshal, which does not end well if a value contains itself.
	return text, untold(reflect.ValueOf(value))
}

func untold(value reflect.Value) error {
	if !value.IsValid() || speaksForItself(value) {
		return nil
	}
	switch value.Kind() {
	case reflect.String:
		if !utf8.ValidString(value.String()) {
			return fmt.Errorf("expected text in UTF-8, found %q (tell bytes as a []byte)", value.String())
		}
	case reflect.Interface, reflect.Pointer:
		return untold(value.Elem())
	case reflect.Slice, reflect.Array:
		if value.Type().Elem().Kind() == reflect.Uint8 {
			return nil
		}
		for i := 0; i < value.Len(); i++ {
			if err := untold(value.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for entries := value.MapRange(); entries.Next(); {
			if err := untold(entries.Key()); err != nil {
				return err
			}
			if err := untold(entries.Value()); err != nil {
				return err
			}
		}
	case reflect.Struct:
		return untoldField(value)
	}
	return nil
}

func untoldField(value reflect.Value) error {
	for i := 0; i < value.NumField(); i++ {
		field := value.Type().Field(i)
		switch {
		case field.Tag.Get("json") == "-":
		case field.IsExported(), field.Anonymous:
			if err := untold(value.Field(i)); err != nil {
				return err
			}
		default:
			return fmt.Errorf("JSON leaves out the field %s of %s: expected exported fields or a MarshalJSON (of an error, tell its Error())",
				field.Name, value.Type())
		}
	}
	return nil
}

// speaksForItself is whether a value has a method that says how it is written, where JSON looks for one.
func speaksForItself(value reflect.Value) bool {
	kind := value.Type()
	if value.CanAddr() {
		kind = reflect.PointerTo(kind)
	}
	return kind.Implements(jsonMarshaler) || kind.Implements(textMarshaler)
}

// kept is a value as it is now, whatever becomes of what it points to. What cannot be told stays as it is: whoever
// asks for the history is told why.
func kept(value any) any {
	switch reflect.ValueOf(value).Kind() {
	case reflect.Slice, reflect.Array, reflect.Map, reflect.Pointer, reflect.Struct:
		if text, err := told(value); err == nil {
			return text
		}
	}
	return value
}
