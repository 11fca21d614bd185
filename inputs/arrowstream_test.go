package inputs

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/google/go-cmp/cmp"
)

var pairSchema = arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Float32, Nullable: true}, {Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)

// pairRecord returns rows with the given ids; x is the same number, or null if it is negative.
func pairRecord(ids ...int64) arrow.Record {
	b := array.NewRecordBuilder(memory.NewGoAllocator(), pairSchema)
	defer b.Release()
	for _, id := range ids {
		if id < 0 {
			b.Field(0).AppendNull()
		} else {
			b.Field(0).(*array.Float32Builder).Append(float32(id))
		}
		b.Field(1).(*array.Int64Builder).Append(id)
	}
	return b.NewRecord()
}

// recordWriter is a writer of either IPC format.
type recordWriter interface {
	Write(arrow.Record) error
	Close() error
}

// pairStream returns a stream with one batch per list.
func pairStream(t testing.TB, batches ...[]int64) []byte {
	t.Helper()
	var out bytes.Buffer
	writePairs(t, ipc.NewWriter(&out, ipc.WithSchema(pairSchema), ipc.WithZstd()), batches...)
	return out.Bytes()
}

func pairFile(t testing.TB, batches ...[]int64) []byte {
	t.Helper()
	f, err := os.Create(t.TempDir() + "/pairs.arrow")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := ipc.NewFileWriter(f, ipc.WithSchema(pairSchema))
	if err != nil {
		t.Fatal(err)
	}
	writePairs(t, w, batches...)
	text, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func writePairs(t testing.TB, w recordWriter, batches ...[]int64) {
	t.Helper()
	for _, ids := range batches {
		rec := pairRecord(ids...)
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
		rec.Release()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestArrowStreamRows(t *testing.T) {
	stream, file := pairStream(t, []int64{7, 8}, nil, []int64{9}), pairFile(t, []int64{7}, []int64{8, 9})
	for name, text := range map[string][]byte{"stream": stream, "file": file, "packed": zipped(t, stream), "without a mark at the end": stream[:len(stream)-8], "a packed file": zipped(t, file)} {
		s := streamSpec("arrow")
		for _, columns := range [][]ColumnSpec{s.Columns, {{Name: "id", Role: Label}}} {
			s.Columns = columns
			if d := cmp.Diff([][]int64{{7, 8}, {9}}, ids(t, openStream(t, s, bytes.NewReader(text)))); d != "" {
				t.Errorf("%s (-want +got):\n%s", name, d)
			}
		}
	}
}

// TestArrowStreamsOfPython reads streams of pyarrow, with dictionaries and lists, and compares them with its files.
func TestArrowStreamsOfPython(t *testing.T) {
	for _, name := range []string{"testdata/plain.arrow", "testdata/stream.arrow"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		s := streamSpec("arrow")
		s.Columns = pyColumns
		from := openStream(t, s, bytes.NewReader(text))
		s.Files = []string{name}
		want, err := Open(t.Context(), s, Context{Mode: Train})
		if err != nil {
			t.Fatal(err)
		}
		all := drain(t, iterate(t, want), want.Schema(), 1000)
		if d := cmp.Diff(all, drain(t, iterate(t, from), from.Schema(), 1000)); d != "" || len(all) == 0 {
			t.Errorf("%s (-file +stream):\n%s", name, d)
		}
	}
}

// TestArrowStreamDoesNotReadAhead: a batch is delivered as soon as it arrives, waiting for the schema ends with the context, and the rows end with
// the end mark.
func TestArrowStreamDoesNotReadAhead(t *testing.T) {
	in, out := io.Pipe()
	s := streamSpec("arrow")
	s.BatchSize, s.Prefetch = 1, 0
	stream, ctx := NewStream(in), Context{Mode: Train, Allocator: checked(t)}
	ctx.Stdin = stream
	cancelled, cancel := context.WithCancel(t.Context())
	begun := make(chan struct{})
	go func() { _, _ = out.Write([]byte{255, 255}); close(begun) }()
	go func() { <-begun; cancel() }()
	if _, err := Open(cancelled, s, ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	text := pairStream(t, []int64{7}, []int64{8})[2:]
	second := len(text) - 8 - len(lastMessage(t, text))
	go func() { _, _ = out.Write(text[:second]) }()
	ds, err := Open(t.Context(), s, ctx)
	if err != nil {
		t.Fatal(err)
	}
	it := iterate(t, ds)
	if got := next(t, it, ds.Schema()); got == "" {
		t.Fatal("the end at the first row")
	}
	go func() { _, _ = out.Write(text[second:]) }() // the writer may keep the pipe open
	if next(t, it, ds.Schema()) == "" || next(t, it, ds.Schema()) != "" {
		t.Error("expected one more row")
	}
	_ = out.Close() // ends the search for bytes after the end
	if _, err := iterate(t, ds).Next(t.Context()); !errors.Is(err, ErrNoResume) {
		t.Errorf("a second pass: got %v", err)
	}
}

// lastMessage returns the last message of a stream before its end mark.
func lastMessage(t *testing.T, stream []byte) []byte {
	t.Helper()
	mark := bytes.LastIndex(stream[:len(stream)-8], []byte{255, 255, 255, 255})
	if mark < 0 {
		t.Fatal("no message")
	}
	return stream[mark : len(stream)-8]
}

func TestArrowStreamErrors(t *testing.T) {
	whole := pairStream(t, []int64{1, 2}, []int64{3})
	other := pairStream(t, []int64{4})
	huge := bytes.Clone(whole)
	binary.LittleEndian.PutUint32(huge[4:], 1<<31-1)
	for name, c := range map[string]struct{ text, want string }{
		"empty": {"", "this is empty"}, "csv": {"1,7\n2,8\n", "this is text, expected an Arrow IPC stream"}, "parquet": {"PAR1\x00\x00", "this is a Parquet file"},
		"wrong mark": {"\xff\xff\xff\xff\xff\xff", "cut short"}, "huge": {string(huge), "cut short"}, "no schema": {"\xff\xff\xff\xff\x00\x00\x00\x00", "no Arrow IPC stream"},
		"cut short": {string(whole[:len(whole)-20]), "cut short"}, "other schema": {string(whole[:len(whole)-8]) + string(other), "standard input: its schema changes in the middle"},
		"two streams": {string(whole) + string(other), "standard input: bytes follow the mark of its end"}, "a byte more": {string(whole) + "\x00", "standard input: bytes follow"},
		"garbage": {string(whole[:len(whole)-8]) + "hello, world", "standard input: the stream is damaged"},
		"null":    {string(pairStream(t, []int64{1, -2})), `standard input: column "x": row 2 of the file: value is null`},
		"column":  {string(streamOfColumn(t)), `unknown column "id": expected one of x`}, "no rows": {string(pairStream(t)), "no row in standard input"},
	} {
		s := streamSpec("arrow")
		err := readFrom(t, s, c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), stdinName) {
			t.Errorf("%s: got %v, expected %q", name, err, c.want)
		}
	}
	s := streamSpec("arrow")
	s.OnError = "skip"
	count := silent()
	ds, err := Open(t.Context(), s, Context{Mode: Train, Stdin: NewStream(bytes.NewReader(pairStream(t, []int64{1, -2}, []int64{-3, 4}))), Damaged: count})
	if err != nil {
		t.Fatal(err)
	}
	if got := flat(ids(t, ds)); count.Count() != 2 || cmp.Diff([]int64{1, 4}, got) != "" {
		t.Errorf("%d rows left out, the others %v", count.Count(), got)
	}
}

func streamOfColumn(t *testing.T) []byte {
	s := arrow.NewSchema(pairSchema.Fields()[:1], nil)
	var out bytes.Buffer
	if err := ipc.NewWriter(&out, ipc.WithSchema(s)).Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// readFrom reads an input with text as its standard input.
func readFrom(t *testing.T, s Spec, text string) error {
	return readAll(s, Context{Mode: Train, Stdin: NewStream(strings.NewReader(text)), Allocator: checked(t)})
}

// TestMessagesTakeWhatCame: a message that claims more values than were received is refused before memory is allocated.
func TestMessagesTakeWhatCame(t *testing.T) {
	room := &messageRoom{Allocator: memory.NewGoAllocator(), left: 100}
	for range 4 {
		room.Allocate(25)
	}
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, "more bytes than it can hold") {
			t.Errorf("got %s", got)
		}
	}()
	room.Reallocate(1, nil)
}

// TestDictionariesShareRoom: all bytes received together bound what the dictionaries of a stream unpack to, not each message on its own; a record
// may concatenate them.
func TestDictionariesShareRoom(t *testing.T) {
	next := textMessages(bytes.NewReader(streamOfWords(t)))
	var metas, bodies [3][]byte // a schema, a dictionary, a record
	for i := range metas {
		meta, body, err := next()
		if err != nil {
			t.Fatal(err)
		}
		metas[i], bodies[i] = meta, body
	}
	const mib = 1 << 20
	for name, c := range map[string]struct {
		messages []int // which of the three
		take     int   // bytes to take for each
		refused  int   // index of the refused message, len(messages) for none
	}{
		"one dictionary": {[]int{1, 2}, 60 * mib, 2}, "deltas": {[]int{1, 1, 1}, 40 * mib, 1}, "a record of joined deltas": {[]int{1, 1, 1, 2}, 20 * mib, 4},
		"records": {[]int{1, 2, 2, 2}, 60 * mib, 4}, "one dictionary too large": {[]int{1, 2}, 65 * mib, 0}, "records before it": {[]int{2, 2, 1}, 64 * mib, 3},
	} {
		at := -1
		m := &arrowMessages{room: &messageRoom{}, next: func() (meta, body []byte, err error) { return metas[c.messages[at]], bodies[c.messages[at]], nil }}
		for at = range c.messages {
			if _, err := m.Message(); err != nil {
				t.Fatal(err)
			}
			refused := refuses(m.room, c.take)
			if want := at == c.refused; refused != want {
				t.Errorf("%s: message %d: refused is %t", name, at, refused)
			}
			if refused {
				break
			}
		}
	}
}

// refuses reports whether a room refuses n bytes.
func refuses(r *messageRoom, n int) (refused bool) {
	defer func() { refused = recover() != nil }()
	r.take(n)
	return false
}

// streamOfWords returns a stream with a text column that has a dictionary.
func streamOfWords(t *testing.T) []byte {
	t.Helper()
	words := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	b := array.NewRecordBuilder(memory.NewGoAllocator(), arrow.NewSchema([]arrow.Field{{Name: "w", Type: words}}, nil))
	defer b.Release()
	if err := b.Field(0).(*array.BinaryDictionaryBuilder).AppendString("word"); err != nil {
		t.Fatal(err)
	}
	rec := b.NewRecord()
	defer rec.Release()
	return arrowStream(t, rec)
}
