//go:build seriatim_cgo

package model

import (
	"hash/maphash"
	"math"
	"reflect"
	"time"
)

// How many values of one state are looked at, and of each entry of a map.
const mostLooked = 1 << 20

var (
	seed   = maphash.MakeSeed()
	moment = reflect.TypeOf(time.Time{})
)

// looks is a hash of everything that a state holds, also behind pointers, so that it shows what a step changes in
// place. Where a state goes on for ever, or is very large, the rest of it is left out.
func looks(state any) uint64 {
	l := looker{}
	l.hash.SetSeed(seed)
	l.value(reflect.ValueOf(state))
	return l.hash.Sum64()
}

type looker struct {
	hash   maphash.Hash
	met    map[uintptr]bool // what pointers pointed to
	looked int
}

func (l *looker) number(number uint64) {
	var bytes [8]byte
	for i := range bytes {
		bytes[i] = byte(number >> (8 * i))
	}
	l.hash.Write(bytes[:])
}

func (l *looker) value(v reflect.Value) {
	l.looked++
	if l.looked > mostLooked {
		return
	}
	l.number(uint64(v.Kind()))
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			l.number(1)
		} else {
			l.number(0)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		l.number(uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		l.number(v.Uint())
	case reflect.Float32, reflect.Float64:
		l.float(v.Float())
	case reflect.Complex64, reflect.Complex128:
		l.float(real(v.Complex()))
		l.float(imag(v.Complex()))
	case reflect.String:
		l.number(uint64(v.Len()))
		l.hash.WriteString(v.String())
	case reflect.Array, reflect.Slice:
		l.number(uint64(v.Len()))
		for i := 0; i < v.Len() && l.looked <= mostLooked; i++ {
			l.value(v.Index(i))
		}
	case reflect.Struct:
		l.fields(v)
	case reflect.Map:
		l.entries(v)
	case reflect.Interface:
		if !v.IsNil() {
			l.hash.WriteString(v.Elem().Type().String())
		}
		l.value(v.Elem())
	case reflect.Pointer:
		if !v.IsNil() && !l.met[v.Pointer()] {
			l.meet(v.Pointer())
			l.value(v.Elem())
		}
	case reflect.Chan, reflect.Func, reflect.UnsafePointer:
		l.number(uint64(v.Pointer()))
	}
}

// float has one hash for both zeros, which are equal.
func (l *looker) float(number float64) {
	l.number(math.Float64bits(number + 0))
}

// fields leaves out the place of a moment: time zones are read when somebody asks for them.
func (l *looker) fields(v reflect.Value) {
	for i := 0; i < v.NumField(); i++ {
		if v.Type() != moment || v.Field(i).Kind() != reflect.Pointer {
			l.value(v.Field(i))
		}
	}
}

func (l *looker) meet(address uintptr) {
	if l.met == nil {
		l.met = map[uintptr]bool{}
	}
	l.met[address] = true
}

// entries has one hash for every order of the entries: none knows what the others met, or how long they are.
func (l *looker) entries(v reflect.Value) {
	sum, looked := uint64(0), l.looked
	for all := v.MapRange(); all.Next(); {
		entry := looker{looked: looked}
		entry.hash.SetSeed(seed)
		for address := range l.met {
			entry.meet(address)
		}
		entry.value(all.Key())
		entry.value(all.Value())
		l.looked += entry.looked - looked
		sum += entry.hash.Sum64()
	}
	l.number(uint64(v.Len()))
	l.number(sum)
}
