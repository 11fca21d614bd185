package rest

import (
	"bytes"
	"unsafe"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// padding is the number of zero bytes after a text: the first ends every scan, and loads may read eight bytes.
const padding = 8

// document is a JSON text with the positions of its lists and objects. Like RapidJSON, with which TensorFlow Serving
// parses, it accepts NaN, Inf and Infinity, stops after the first value, and takes a zero byte as the end of the
// text.
type document struct {
	b     []byte // with padding
	nodes []node // lists and objects in the order in which they open
	stack []uint32

	account *budget.Account // pays for nodes, and for values made from the text
	taken   int             // bytes for these values
	err     error           // of the account
	root    int             // where the value begins
}

// node is a list or an object.
type node struct {
	count uint32 // elements or members
	end   uint32 // offset after its bracket
	next  uint32 // the first node after it
}

// nodeSize is the size of a node in bytes.
const nodeSize = int(unsafe.Sizeof(node{}))

// The texts of RapidJSON 1.1's parse errors.
const (
	errEmpty      = "The document is empty."
	errValue      = "Invalid value."
	errName       = "Missing a name for object member."
	errColon      = "Missing a colon after a name of object member."
	errObjectNext = "Missing a comma or '}' after an object member."
	errArrayNext  = "Missing a comma or ']' after an array element."
	errHex        = "Incorrect hex digit after \\u escape in string."
	errSurrogate  = "The surrogate pair in string is invalid."
	errEscape     = "Invalid escape character in string."
	errQuote      = "Missing a closing quotation mark in string."
	errTooBig     = "Number too big to be stored in double."
	errFraction   = "Miss fraction part in number."
	errExponent   = "Miss exponent in number."
)

// deepest is the largest depth of nested lists and objects, which bounds the memory for a text of brackets; errDeep
// is not RapidJSON's, which has no limit.
const (
	deepest = 1 << 20
	errDeep = "Lists and objects are nested deeper than 1048576 levels."
)

// parse checks the syntax of text and finds its lists and objects. It uses the spare capacity of text.
func (d *document) parse(text []byte) error {
	if len(text) == 0 {
		return invalid("JSON Parse error: The document is empty")
	}
	d.b = append(text, make([]byte, padding)...)
	d.nodes, d.stack, d.taken, d.err = d.nodes[:0], d.stack[:0], 0, nil
	if err := d.room(min(containers(text), deepest)); err != nil {
		return err
	}
	if text, at := d.scan(); text != "" {
		if d.err != nil {
			return d.err
		}
		return invalid("JSON Parse error: %s at offset: %d", text, at)
	}
	if d.b[d.root] != '{' {
		return invalid("JSON Value: %s Is not object", d.debug(d.cursor()))
	}
	return nil
}

// scan walks over the text without recursion; it returns the error and its offset, or "".
func (d *document) scan() (string, int) {
	b := d.b
	p := space(b, byteOrderMark(b))
	d.root = p
	var text string
value:
	switch c := b[p]; c {
	case '{':
		if !d.open(1) {
			return errDeep, p
		}
		if p = space(b, p+1); b[p] == '}' {
			goto closing
		}
		goto name
	case '[':
		if !d.open(0) {
			return errDeep, p
		}
		if p = space(b, p+1); b[p] == ']' {
			goto closing
		}
		goto value
	case '"':
		p, text = scanString(b, p)
	case 't':
		p, text = scanWord(b, p, "true")
	case 'f':
		p, text = scanWord(b, p, "false")
	case 'n':
		p, text = scanWord(b, p, "null")
	case ',', ':', ']', '}', 0:
		if len(d.stack) == 0 {
			return errEmpty, p
		}
		return errValue, p
	default:
		p, text = d.scanNumbers(p)
	}
	if text != "" {
		return text, p
	}
	if len(d.stack) == 0 {
		return "", p
	}
behind:
	{
		top := d.stack[len(d.stack)-1]
		d.nodes[top>>1].count++
		p = space(b, p)
		switch c := b[p]; {
		case c == ',':
			p = space(b, p+1)
			if top&1 == 1 {
				goto name
			}
			goto value
		case top&1 == 1 && c == '}', top&1 == 0 && c == ']':
			goto closing
		case top&1 == 1:
			return errObjectNext, p
		}
		return errArrayNext, p
	}
name:
	if p, text = scanName(b, p); text != "" {
		return text, p
	}
	goto value
closing:
	p++
	if d.close(p); len(d.stack) == 0 {
		return "", p
	}
	goto behind
}

// byteOrderMark returns the length of the byte order mark at the start of the text.
func byteOrderMark(b []byte) (n int) {
	for _, c := range []byte("\xEF\xBB\xBF") {
		if b[n] == c {
			n++
		}
	}
	return n
}

// scanName checks a name and its colon; it returns the offset of the value.
func scanName(b []byte, p int) (int, string) {
	if b[p] != '"' {
		return p, errName
	}
	p, text := scanString(b, p)
	if text != "" {
		return p, text
	}
	if p = space(b, p); b[p] != ':' {
		return p, errColon
	}
	return space(b, p+1), ""
}

// close ends the innermost list or object before the offset end.
func (d *document) close(end int) {
	top := len(d.stack) - 1
	n := &d.nodes[d.stack[top]>>1]
	n.end, n.next = uint32(end), uint32(len(d.nodes))
	d.stack = d.stack[:top]
}

// scanNumbers checks the number at p and, in a list, the numbers that follow it; it counts all but the last.
func (d *document) scanNumbers(p int) (int, string) {
	b := d.b
	p, text := scanNumber(b, p)
	if len(d.stack) == 0 || d.stack[len(d.stack)-1]&1 == 1 {
		return p, text
	}
	count := uint32(0)
	for text == "" && b[p] == ',' {
		next := space(b, p+1)
		if !digit(b[next]) && b[next] != '-' {
			break
		}
		p, text = scanNumber(b, next)
		count++
	}
	d.nodes[d.stack[len(d.stack)-1]>>1].count += count
	return p, text
}

// open begins a list or an object; it returns false if it is nested too deep.
func (d *document) open(object uint32) bool {
	if len(d.stack) == deepest {
		return false
	}
	if len(d.nodes) == cap(d.nodes) {
		most := max(containers(d.b), len(d.nodes)+len(d.nodes)/2) // more than deepest, or a text without an end
		if d.err = d.room(most); d.err != nil {
			return false
		}
	}
	if n := len(d.stack); n == cap(d.stack) {
		if d.err = d.account.Reserve(4 * max(n, 64)); d.err != nil { // at least as much as it grows by
			return false
		}
	}
	d.stack = append(d.stack, uint32(len(d.nodes))<<1|object)
	d.nodes = append(d.nodes, node{})
	return true
}

// room makes room for that many nodes in all.
func (d *document) room(count int) error {
	if count <= cap(d.nodes) {
		return nil
	}
	if err := d.account.ReserveArray(count, nodeSize); err != nil {
		return err
	}
	bigger := append(make([]node, 0, count), d.nodes...)
	d.account.Release(nodeSize * cap(d.nodes))
	d.nodes = bigger
	return nil
}

// containers is the number of lists and objects in a text. Brackets within strings do not count, but are excluded
// only if there are so many that it matters.
func containers(text []byte) int {
	most := bytes.Count(text, []byte("[")) + bytes.Count(text, []byte("{"))
	if nodeSize*most <= 2*len(text) {
		return most
	}
	opened, closed := 0, 0
	for p := 0; p < len(text); p++ {
		switch text[p] {
		case '[', '{':
			opened++
		case ']', '}':
			closed++
		case '"':
			for p++; p < len(text) && text[p] != '"'; p++ {
				if text[p] == '\\' {
					p++
				}
			}
		}
	}
	return min(opened, max(closed, deepest)) // so many unclosed ones are refused for their depth
}

// take reserves memory for what is about to be made from the text.
func (d *document) take(n int) error {
	err := d.account.Reserve(n)
	if err == nil {
		d.taken += n
	}
	return err
}

// takeTimes is take for count things of size bytes each.
func (d *document) takeTimes(count, size int) error {
	err := d.account.ReserveArray(count, size)
	if err == nil {
		d.taken += count * size
	}
	return err
}

// give releases memory that was taken and is not used.
func (d *document) give(n int) {
	d.account.Release(n)
	d.taken -= n
}

// space returns the first offset from p on that is not white space.
func space(b []byte, p int) int {
	for b[p] == ' ' || b[p] == '\n' || b[p] == '\r' || b[p] == '\t' {
		p++
	}
	return p
}

func scanWord(b []byte, p int, word string) (int, string) {
	for i := range len(word) {
		if b[p] != word[i] {
			return p, errValue
		}
		p++
	}
	return p, ""
}

// invalid is the error of a bad request.
func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}
