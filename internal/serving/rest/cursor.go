package rest

import (
	"bytes"
	"slices"
)

// cursor is a position in a document: the value at p; n is the next list or object that opens there or later.
type cursor struct {
	d *document
	p int
	n uint32
}

// cursor returns the position of the document's value.
func (d *document) cursor() cursor { return cursor{d: d, p: d.root} }

// kind names the type of the value as RapidJSON does.
func (c cursor) kind() string {
	switch c.d.b[c.p] {
	case '{':
		return "Object"
	case '[':
		return "Array"
	case '"':
		return "String"
	case 't':
		return "True"
	case 'f':
		return "False"
	case 'n':
		return "Null"
	}
	return "Number"
}

func (c cursor) isList() bool   { return c.d.b[c.p] == '[' }
func (c cursor) isObject() bool { return c.d.b[c.p] == '{' }
func (c cursor) isString() bool { return c.d.b[c.p] == '"' }

// count is the number of elements or members of the list or object.
func (c cursor) count() int { return int(c.d.nodes[c.n].count) }

// enter moves to the first element of a list, to the first name of an object, or to the closing bracket.
func (c *cursor) enter() {
	c.p = space(c.d.b, c.p+1)
	c.n++
}

// end returns the offset after the value.
func (c cursor) end() int {
	b, p := c.d.b, c.p
	switch b[p] {
	case '{', '[':
		return int(c.d.nodes[c.n].end)
	case '"':
		return stringEnd(b, p)
	case 't', 'n':
		return p + 4
	case 'f':
		return p + 5
	}
	for ; ; p++ {
		switch b[p] {
		case ',', ']', '}', ' ', '\n', '\r', '\t', 0:
			return p
		}
	}
}

// skip moves past the value and its separator from the next one.
func (c *cursor) skip() {
	end := c.end()
	if c.isList() || c.isObject() {
		c.n = c.d.nodes[c.n].next
	}
	c.separator(end)
}

// separator moves past the comma at p, or to the closing bracket.
func (c *cursor) separator(p int) {
	b := c.d.b
	if b[p] != ',' {
		if p = space(b, p); b[p] != ',' {
			c.p = p
			return
		}
	}
	c.p = space(b, p+1)
}

// name reads the name of the member that begins here, and moves to its value.
func (c *cursor) name() []byte {
	b := c.d.b
	end := stringEnd(b, c.p)
	name := unquote(b[c.p:end])
	c.p = space(b, space(b, end)+1)
	return name
}

// text is the value as it is written.
func (c cursor) text() []byte { return c.d.b[c.p:c.end()] }

// member finds the first member of an object with that name.
func (c cursor) member(name string) (value cursor, ok bool) {
	count := c.count()
	c.enter()
	for range count {
		if string(c.name()) == name {
			return c, true
		}
		c.skip()
	}
	return c, false
}

// base64 returns the content of {"b64": "..."}, with its escapes.
func (c cursor) base64() (content []byte, ok bool) {
	if !c.isObject() || c.count() != 1 {
		return nil, false
	}
	c.enter()
	if string(c.name()) != "b64" || !c.isString() {
		return nil, false
	}
	return c.text(), true
}

// decodeBase64 returns the bytes that {"b64": "..."} encodes.
func (c cursor) decodeBase64() ([]byte, error) {
	text, ok := c.base64()
	if !ok {
		return nil, invalid("JSON Value: %s not formatted correctly for base64 data", c.d.debug(c))
	}
	if err := c.d.take(len(text)); err != nil { // for the result, and for copies made to drop white space and escapes
		return nil, err
	}
	out, ok := decodeBase64(unquote(text))
	if !ok {
		return nil, invalid("Unable to base64 decode")
	}
	return out, nil
}

// content returns the bytes of a string, or the bytes that {"b64": "..."} encodes.
func (c cursor) content(b64 bool) ([]byte, error) {
	if b64 {
		return c.decodeBase64()
	}
	return c.meaning()
}

// meaning returns the decoded string: a part of the text, or a copy if it has escapes.
func (c cursor) meaning() ([]byte, error) {
	text := c.text()
	if bytes.IndexByte(text, '\\') >= 0 {
		if err := c.d.take(len(text)); err != nil {
			return nil, err
		}
	}
	return slices.Clip(unquote(text)), nil
}
