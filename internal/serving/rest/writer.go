package rest

import "github.com/goestimator/goestimator/internal/platform/budget"

// writer writes JSON as RapidJSON's PrettyWriter does: each value on its own line, or lists on one line if single is
// set.
type writer struct {
	buf     []byte
	account *budget.Account // pays for buf; nil: not counted
	fair    int             // limit of buf for the model's answer; a larger one is due to the request, which chose the shape
	isFair  bool            // buf is paid for as the model's answer
	done    int             // elements written so far, of
	all     int             // all; 0: unknown
	err     error           // of the account: the output is lost

	single bool
	narrow bool // one space per level, as protocol buffers are printed, instead of four
	levels []level
}

type level struct {
	count int // values and names so far
	list  bool
}

// before writes the separator before a value or a name.
func (w *writer) before() {
	w.room(longestNumber)
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

// longestNumber is the room for a number or a bracket with its separator; strings reserve their own.
const longestNumber = 64

// room makes room for n more bytes.
func (w *writer) room(n int) {
	if cap(w.buf)-len(w.buf) < n {
		w.grow(n)
	}
}

// grow makes the buffer larger. If the account does not pay for it, the output is dropped, since only err will be read.
func (w *writer) grow(n int) {
	size := max(len(w.buf)+n, nextSize(cap(w.buf)))
	if w.done > 0 && w.done < w.all { // if the rest is like what is written
		rest := float64(len(w.buf)) / float64(w.done) * float64(w.all) * 17 / 16
		size = max(len(w.buf)+n, min(int(rest), 8*size))
	}
	if w.err == nil {
		w.err = w.pay(size)
	}
	if w.err != nil {
		w.buf = w.buf[:0]
		if cap(w.buf) < n {
			w.buf = make([]byte, 0, n)
		}
		return
	}
	w.buf = append(make([]byte, 0, size), w.buf...)
}

// pay pays for a buffer of that size in place of the present one.
func (w *writer) pay(size int) error {
	fair := size <= w.fair
	take, give := w.account.Reserve, w.account.Release
	if fair {
		take = w.account.ReserveModel
	}
	if w.isFair {
		give = w.account.ReleaseModel
	}
	if err := take(size); err != nil {
		return err
	}
	give(cap(w.buf))
	w.isFair = fair
	return nil
}

// line begins a new line.
func (w *writer) line() {
	w.room(1 + 4*len(w.levels))
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
	w.room(1)
	w.buf = append(w.buf, bracket)
}

// quoted writes a string or a name.
func (w *writer) quoted(s []byte) {
	w.before()
	w.room(quotedSize(s))
	w.buf = appendQuoted(w.buf, s)
}

// raw writes a number or a word.
func (w *writer) raw(s string) {
	w.before()
	w.buf = append(w.buf, s...)
}
