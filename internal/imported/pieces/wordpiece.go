package pieces

import (
	"encoding/binary"
	"errors"
	"unicode"
	"unicode/utf8"
)

// Wordpieces is a FastWordpieceTokenizer model. It never changes.
type Wordpieces struct {
	trie            doubleArray
	failures        []byte // for each node: the node to continue at, and the pieces that end there
	pops            []byte // lists of pieces
	ofSuffix        []byte // the pieces of the suffix indicator itself
	suffixRoot      uint32
	punctuationRoot uint32
	longest         int // maximum bytes of a word
	suffix, unknown string
	unknownID       int
	texts           bool // the model is for texts, not only for single words
}

// Subword is a piece, with the bytes of the text that it covers.
type Subword struct {
	Text           string
	ID, Begin, End int
}

// NewWordpieces parses a model. It keeps the bytes.
func NewWordpieces(model []byte) (*Wordpieces, error) {
	f := newFlat(model)
	w := &Wordpieces{
		trie: f.vector(0, 4), failures: f.vector(1, 8), pops: f.vector(2, 4), suffixRoot: uint32(f.integer(3)), longest: f.integer(4),
		suffix: string(f.vector(5, 1)), unknown: string(f.vector(6, 1)), unknownID: f.integer(7), ofSuffix: f.vector(8, 4),
		punctuationRoot: uint32(f.integer(9)), texts: f.boolean(10),
	}
	if len(w.trie) == 0 && f.err == nil {
		f.err = errFlat
	}
	return w, f.err
}

// errLoop says that a damaged model leads from node to node without end.
var errLoop = errors.New("Failed to make any progress in tokenizing the input text.") //nolint:staticcheck // clients know this text

// Split splits a word, or a whole text if the model is for texts.
func (w *Wordpieces) Split(text string, room Room) ([]Subword, error) {
	r := &wordRun{w: w, room: room, steps: 8 * (len(text) + 8)}
	switch {
	case !w.texts && text != "":
		r.single(text)
	case w.texts:
		for at := 0; at < len(text) && r.steps >= 0; {
			at = r.next(text, at)
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	if r.steps < 0 {
		return nil, errLoop
	}
	return r.out, nil
}

// wordRun is the splitting of a text.
type wordRun struct {
	w     *Wordpieces
	out   []Subword
	kept  int // pieces of earlier words
	word  string
	begin int // where the word begins in the text
	done  int // bytes of the word that already have pieces
	at    cursor
	last  rune // the character looked at last, as in TensorFlow Text: at the start of a word it is not always the previous one
	steps int  // steps left; below 0 the model is damaged
	room  Room
	err   error // the error of room
}

// start begins a word.
func (r *wordRun) start(word string, begin int) {
	r.word, r.begin, r.done, r.at, r.kept = word, begin, 0, r.w.trie.at(0), len(r.out)
}

func (r *wordRun) single(word string) {
	r.start(word, 0)
	if len(word) > r.w.longest {
		r.unknown(len(word))
		return
	}
	for i := range len(word) {
		if !r.advance(word[i : i+1]) {
			r.unknown(len(word))
			return
		}
	}
	r.finish(len(word))
}

// advance follows the bytes of a character. Where the trie has no such path, it writes pieces and continues after them.
func (r *wordRun) advance(char string) bool {
	for {
		to, ok := r.w.trie.follow(r.at, char)
		if ok {
			r.at = to
			return true
		}
		if !r.pop() {
			return false
		}
	}
}

// next splits the word at begin, and returns where the next one begins.
func (r *wordRun) next(text string, begin int) int {
	r.start(text[begin:], begin)
	at := begin
	for at < len(text) {
		before := r.last
		char, size := utf8.DecodeRuneInString(text[at:])
		r.last = char
		if at+size-begin <= r.w.longest && r.advance(text[at:at+size]) {
			at += size
			continue
		}
		space := unicode.IsSpace(char)
		if !space && !separates(char) && (at == 0 || !separates(before)) {
			at += size
			end, after := restOfWord(text, at)
			r.unknown(end - begin)
			return after
		}
		r.finish(at - begin)
		switch {
		case space:
			return at + size
		case at == begin: // a separator that is not in the vocabulary
			r.unknown(size)
			return at + size
		}
		return at
	}
	r.finish(at - begin)
	return at
}

// restOfWord returns where the word that at is in ends, and where the next one begins.
func restOfWord(text string, at int) (end, next int) {
	for at < len(text) {
		char, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case unicode.IsSpace(char):
			return at, at + size
		case separates(char):
			return at, at
		}
		at += size
	}
	return at, at
}

// ideographs are the characters that BERT treats as words of their own.
var ideographs = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x3400, Hi: 0x4dbf, Stride: 1}, {Lo: 0x4e00, Hi: 0x9fff, Stride: 1}, {Lo: 0xf900, Hi: 0xfaff, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0x20000, Hi: 0x2a6df, Stride: 1}, {Lo: 0x2a700, Hi: 0x2b81f, Stride: 1}, {Lo: 0x2b820, Hi: 0x2ceaf, Stride: 1}, {Lo: 0x2f800, Hi: 0x2fa1f, Stride: 1}},
}

// separates reports whether a character is a word of its own.
func separates(r rune) bool {
	if r < 0x80 {
		return r > ' ' && r < 0x7f && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}
	return unicode.In(r, ideographs, unicode.P)
}

// pop writes the pieces at the start of the path to the node, and moves to the node for the rest of the path.
func (r *wordRun) pop() bool {
	if r.steps--; r.steps < 0 {
		return false
	}
	entry := 8 * int64(r.at.node)
	if entry+8 > int64(len(r.w.failures)) {
		return false
	}
	link, list := binary.LittleEndian.Uint32(r.w.failures[entry:]), binary.LittleEndian.Uint32(r.w.failures[entry+4:])
	if token, ok := r.w.trie.value(r.at); ok {
		r.add(uint32(token))
		r.at = r.w.trie.at(link)
		return true
	}
	if link == 1<<32-1 {
		return false
	}
	from, n := 4*int64(list>>8), int64(list&0xff)+1
	if from+4*n > int64(len(r.w.pops)) {
		return false
	}
	r.addAll(r.w.pops[from : from+4*n])
	r.at = r.w.trie.at(link)
	return true
}

func (r *wordRun) addAll(tokens []byte) {
	for ; len(tokens) >= 4 && r.steps >= 0; tokens = tokens[4:] {
		r.add(binary.LittleEndian.Uint32(tokens))
	}
}

// take asks for room. If there is none, the run ends.
func (r *wordRun) take(bytes int) bool {
	if err := r.room.take(bytes); err != nil {
		r.err, r.steps = err, -1
	}
	return r.err == nil
}

// add writes a piece. token packs the piece's number, its length, and whether it continues a word.
func (r *wordRun) add(token uint32) {
	id, n := int(token&(1<<30-1)>>8), int(token&0xff)+1
	if r.done == 0 && token>>30 != 0 {
		n += len(r.w.suffix)
	}
	from, to := min(r.done, len(r.word)), min(r.done+n, len(r.word)) // a damaged model's pieces may be longer than the word
	text := r.word[from:to]
	if id == r.w.unknownID {
		text = r.w.unknown
	}
	if !r.take(len(r.w.suffix) + tokenBytes) {
		return
	}
	if r.done > 0 {
		text = r.w.suffix + text
	}
	r.out = append(r.out, Subword{text, id, r.begin + from, r.begin + to})
	r.done = to
}

// finish writes the pieces for the rest of a word of that length.
func (r *wordRun) finish(length int) {
	if r.at.node == 0 {
		return
	}
	r.word = r.word[:length]
	if r.at.node == r.w.suffixRoot && len(r.out) == r.kept { // the word is the suffix indicator
		if first := r.w.ofSuffix; len(first) == 4 && int(binary.LittleEndian.Uint32(first)&(1<<30-1)>>8) == r.w.unknownID {
			r.unknown(length)
			return
		}
		r.addAll(r.w.ofSuffix)
		return
	}
	for r.at.node != r.w.suffixRoot && r.at.node != r.w.punctuationRoot {
		if !r.pop() {
			r.unknown(length)
			return
		}
	}
}

// unknown replaces all pieces of the word by the unknown piece.
func (r *wordRun) unknown(length int) {
	if !r.take(tokenBytes) {
		return
	}
	r.out = append(r.out[:r.kept], Subword{r.w.unknown, r.w.unknownID, r.begin, r.begin + length})
	r.kept++
}
