package circomwitness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// signal is an input with its values.
type signal struct {
	name   string
	values []*big.Int
}

// parse reads an input.json. Numbers stay as they are written.
func parse(b []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var inputs map[string]any
	if err := d.Decode(&inputs); err != nil {
		return nil, refuse("inputs: %w", err)
	}
	if d.More() {
		return nil, refuse("inputs: something stands behind their end")
	}
	return inputs, nil
}

// signals returns the inputs of a circuit, sorted by their names. As in circom's own calculators an
// object's members are inputs named object.member, and those of a list of objects list[0].member;
// lists in lists of numbers are one list.
func signals(inputs map[string]any) (all []signal, err error) {
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		if err := qualify(name, inputs[name], &all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// qualify appends the inputs that a value stands for.
func qualify(name string, v any, all *[]signal) error {
	switch x := v.(type) {
	case map[string]any:
		for _, member := range slices.Sorted(maps.Keys(x)) {
			if err := qualify(name+"."+member, x[member], all); err != nil {
				return err
			}
		}
		return nil
	case []any:
		if !ofObjects(x) {
			break
		}
		for i, e := range x {
			if err := qualify(fmt.Sprintf("%s[%d]", name, i), e, all); err != nil {
				return err
			}
		}
		return nil
	}
	s := signal{name: name}
	if err := s.add(v); err != nil {
		return refuse("input %s: %w", name, err)
	}
	*all = append(*all, s)
	return nil
}

// ofObjects reports whether the first thing in a list that is no list is an object.
func ofObjects(list []any) bool {
	if len(list) == 0 {
		return false
	}
	switch x := list[0].(type) {
	case []any:
		return ofObjects(x)
	case map[string]any:
		return true
	}
	return false
}

// add appends a value, or those of a list.
func (s *signal) add(v any) error {
	switch x := v.(type) {
	case []any:
		for _, e := range x {
			if err := s.add(e); err != nil {
				return err
			}
		}
		return nil
	case []*big.Int:
		s.values = append(s.values, x...)
		return nil
	}
	n, err := number(v)
	s.values = append(s.values, n)
	return err
}

// number returns a value as JavaScript's BigInt does. A number of JSON above 2^53 would be another
// one in JavaScript, so it is refused.
func number(v any) (*big.Int, error) {
	switch x := v.(type) {
	case *big.Int:
		if x == nil {
			return nil, fmt.Errorf("no number")
		}
		return x, nil
	case bool:
		if x {
			return big.NewInt(1), nil
		}
		return new(big.Int), nil
	case json.Number:
		return whole(x)
	case float64:
		return whole(json.Number(fmt.Sprint(x)))
	case string:
		return text(x)
	}
	return nil, fmt.Errorf("%T is no value of a signal", v)
}

// mostExact is up to where JavaScript's numbers are exact.
var mostExact = new(big.Int).Lsh(big.NewInt(1), 53)

// whole returns a number of JSON, which must be whole.
func whole(n json.Number) (*big.Int, error) {
	f, err := n.Float64()
	if err != nil || len(n) > longest {
		return nil, fmt.Errorf("%.40s is no number", n)
	}
	v, accuracy := big.NewFloat(f).Int(nil)
	if exact, ok := new(big.Int).SetString(string(n), 10); ok {
		v = exact // which f may have rounded
	}
	switch {
	case v.CmpAbs(mostExact) > 0:
		return nil, fmt.Errorf("%.40s is above 2^53: write it as a string", n)
	case accuracy != big.Exact:
		return nil, fmt.Errorf("%.40s is not whole", n)
	}
	return v, nil
}

// longest is the most digits of a text. Values are taken modulo the prime, so a few more than it
// has make sense.
const longest = 1000

// text returns the number in a text: decimal with a sign, or after 0x, 0o or 0b. No text is 0.
func text(s string) (*big.Int, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return new(big.Int), nil
	}
	digits, base := s, 10
	if len(s) > 2 && s[0] == '0' {
		if b, ok := map[byte]int{'x': 16, 'o': 8, 'b': 2}[s[1]|0x20]; ok {
			digits, base = s[2:], b
		}
	}
	if len(digits) > longest {
		return nil, fmt.Errorf("a text of %d digits", len(digits))
	}
	v, ok := new(big.Int).SetString(digits, base)
	if !ok || base != 10 && strings.ContainsAny(digits, "+-") {
		return nil, fmt.Errorf("%.40q is no number", s)
	}
	return v, nil
}
