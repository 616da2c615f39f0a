package seriatim

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// Two values that JSON writes alike are one value to the command, so that a history with one in the
// place of the other would pass. JSON does that silently in four places: bytes that are no UTF-8 all
// become U+FFFD; fields of a struct that are not exported are left out, which makes all errors of the
// standard library `{}`; of fields with one name, which embedding makes, one is left, or none; and a
// struct with an embedded time says the time and nothing else. Such values are refused. A type with a
// MarshalJSON or MarshalText of its own, and a field with a tag, say themselves what they want to tell.

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
	if !value.IsValid() {
		return nil
	}
	if speaksForItself(value) {
		return borrowed(value)
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
		return untoldFields(value, map[string]bool{})
	}
	return nil
}

// untoldFields looks at the fields that JSON writes side by side: those of a struct, and of the structs that
// it embeds. The names are those that it has met.
func untoldFields(value reflect.Value, names map[string]bool) error {
	for i := 0; i < value.NumField(); i++ {
		field, inner := value.Type().Field(i), value.Field(i)
		tag := field.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		if tag == "-" {
			continue
		}
		if name == "" {
			name = field.Name
			if isEmbeddedStruct(field) {
				if err := untoldEmbedded(inner, names); err != nil {
					return err
				}
				continue
			}
		}
		if !field.IsExported() {
			return fmt.Errorf("JSON leaves out the field %s of %s: expected exported fields or a MarshalJSON (of an error, tell its Error())",
				field.Name, value.Type())
		}
		if names[name] {
			return fmt.Errorf("JSON leaves out one field %s of %s, or both: expected fields with different names", name, value.Type())
		}
		names[name] = true
		if err := untold(inner); err != nil {
			return err
		}
	}
	return nil
}

// isEmbeddedStruct is whether JSON writes the fields of a field as if they were of the struct around it.
func isEmbeddedStruct(field reflect.StructField) bool {
	kind := field.Type
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	return field.Anonymous && kind.Kind() == reflect.Struct
}

func untoldEmbedded(value reflect.Value, names map[string]bool) error {
	if value.Kind() != reflect.Pointer {
		return untoldFields(value, names)
	}
	if value.IsNil() {
		return nil
	}
	return untoldFields(value.Elem(), names)
}

// borrowed looks for what a struct does not say that has its voice from a field that it embeds: it is written as
// that field is.
func borrowed(value reflect.Value) error {
	value = reflect.Indirect(value)
	if value.Kind() != reflect.Struct || value.NumField() == 1 || !value.CanInterface() {
		return nil
	}
	whole, err := json.Marshal(value.Interface())
	for i := 0; i < value.NumField() && err == nil; i++ {
		field, inner := value.Type().Field(i), value.Field(i)
		if !field.Anonymous || !field.IsExported() || !speaksForItself(inner) {
			continue
		}
		if part, err := json.Marshal(inner.Interface()); err == nil && bytes.Equal(whole, part) {
			return fmt.Errorf("JSON leaves out all of %s but its %s: expected a MarshalJSON of its own", value.Type(), field.Name)
		}
	}
	return err
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
