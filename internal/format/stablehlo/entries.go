package stablehlo

// entry is an attribute or type that is parsed on demand.
type entry struct {
	dialect string
	custom  bool // in the dialect's encoding; otherwise text
	data    []byte
	state   entryState
	value   any
}

// entryState says how far an entry has been parsed.
type entryState uint8

const (
	unread entryState = iota
	reading
	read
)

// entries are all attributes, or all types.
type entries []entry

// readEntries finds the position of each attribute and type.
func (r *reader) readEntries(content, offsets *cursor) {
	attrs, types := offsets.count(), offsets.count()
	if attrs+types > len(offsets.b) {
		damaged("%d attributes and types in %d bytes", attrs+types, len(offsets.b))
	}
	r.attrs = r.entries(content, offsets, attrs)
	r.types = r.entries(content, offsets, types)
}

// entries reads the next n entries, which come in groups by dialect.
func (r *reader) entries(content, offsets *cursor, n int) entries {
	all := make(entries, 0, n)
	for len(all) < n {
		dialect := r.dialectAt(offsets.varint())
		group := offsets.count()
		if group > n-len(all) {
			damaged("a group of %d entries where %d are left", group, n-len(all))
		}
		for range group {
			size, custom := offsets.flagged()
			all = append(all, entry{dialect: dialect, custom: custom, data: content.take(size)})
		}
	}
	return all
}

// at returns the value of entry i, read by parse.
func (r *reader) at(all entries, i uint64, parse func(e *entry, c *cursor) any) any {
	if i >= uint64(len(all)) {
		damaged("entry %d of %d attributes or types", i, len(all))
	}
	e := &all[i]
	switch e.state {
	case reading:
		damaged("an attribute or type holds itself")
	case unread:
		if r.depth++; r.depth > maxDepth {
			damaged("attributes lie deeper than %d", maxDepth)
		}
		e.state = reading
		e.value = parse(e, &cursor{e.data})
		e.state = read
		r.depth--
	}
	return e.value
}

// typeAt reads the index of a type and returns the type. It has kind Other if it is not VHLO's.
func (r *reader) typeAt(c *cursor) Type { return r.typeOf(c.varint()) }

func (r *reader) typeOf(i uint64) Type {
	t, _ := r.at(r.types, i, func(e *entry, c *cursor) any {
		if e.dialect != vhloDialect || !e.custom {
			return Type{Name: "a type of dialect " + e.dialect}
		}
		return r.vhloType(c)
	}).(Type)
	return t
}

// attrAt reads the index of an attribute and returns the attribute.
func (r *reader) attrAt(c *cursor) any { return r.attrOf(c.varint()) }

func (r *reader) attrOf(i uint64) any {
	return r.at(r.attrs, i, func(e *entry, c *cursor) any {
		switch {
		case !e.custom:
			return nil
		case e.dialect == vhloDialect:
			return r.vhloAttr(c)
		case e.dialect == builtinDialect:
			return r.builtinAttr(c)
		}
		return nil
	})
}

// builtinAttr reads the builtin attributes that hold VHLO's in artifacts without properties: dictionaries with string keys.
func (r *reader) builtinAttr(c *cursor) any {
	switch c.varint() {
	case builtinDictionary:
		return r.dictionary(c)
	case builtinString:
		return r.stringAt(c.varint())
	}
	return nil
}
