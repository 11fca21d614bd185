package rest

// writer writes JSON as RapidJSON's PrettyWriter does: each value on a line of its own, lists on one line where single
// is set.
type writer struct {
	buf    []byte
	single bool
	narrow bool // one space a level, as protocol buffers are printed, in place of four
	levels []level
}

type level struct {
	count int // values and names so far
	list  bool
}

// before writes what separates a value or a name from the one before.
func (w *writer) before() {
	if len(w.levels) == 0 {
		return
	}
	l := &w.levels[len(w.levels)-1]
	switch {
	case l.list && w.single:
		if l.count > 0 {
			w.buf = append(w.buf, ',', ' ')
		}
	case !l.list && l.count%2 == 1:
		w.buf = append(w.buf, ':', ' ')
	default:
		if l.count > 0 {
			w.buf = append(w.buf, ',')
		}
		w.line()
	}
	l.count++
}

// line begins a new line.
func (w *writer) line() {
	w.buf = append(w.buf, '\n')
	indent := "    "
	if w.narrow {
		indent = " "
	}
	for range w.levels {
		w.buf = append(w.buf, indent...)
	}
}

func (w *writer) open(bracket byte) {
	w.before()
	w.levels = append(w.levels, level{list: bracket == '['})
	w.buf = append(w.buf, bracket)
}

func (w *writer) close(bracket byte) {
	l := w.levels[len(w.levels)-1]
	w.levels = w.levels[:len(w.levels)-1]
	if l.count > 0 && !(l.list && w.single) {
		w.line()
	}
	w.buf = append(w.buf, bracket)
}

// quoted writes a string or a name.
func (w *writer) quoted(s []byte) {
	w.before()
	w.buf = appendQuoted(w.buf, s)
}

// raw writes a number or a word.
func (w *writer) raw(s string) {
	w.before()
	w.buf = append(w.buf, s...)
}
