package pytorch

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/tensorfile"
	"github.com/goestimator/goestimator/tensor"
)

const recorded = "../../../models/weights/testdata/torch/"

// member is a file of an archive.
type member struct {
	name, content string
	method        uint16
}

// pack makes an archive.
func pack(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		f, err := w.CreateHeader(&zip.FileHeader{Name: m.name, Method: m.method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(m.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// read lists the tensors of a file in either format.
func read(data []byte) ([]tensorfile.Entry, error) {
	if IsLegacy(data) {
		return ReadLegacy(bytes.NewReader(data), int64(len(data)))
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, tensorfile.Errorf("%w", err)
	}
	if !IsArchive(z) {
		return nil, tensorfile.Errorf("no archive of PyTorch")
	}
	return ReadArchive(z, bytes.NewReader(data), int64(len(data)))
}

// Building blocks of the pickles in tests.
const (
	proto     = "\x80\x02"
	rebuilder = "ctorch._utils\n_rebuild_tensor_v2\n"
	// floats6 is storage "0" of 6 float32.
	floats6 = "(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x06tQ"
)

// tensorOf returns a tensor of storage; layout has what comes between it and the gradient flag: offset, shape, strides.
func tensorOf(storage, layout string) string {
	return rebuilder + "(" + storage + layout + "\x89ccollections\nOrderedDict\n)RtR"
}

// dictOf returns a pickle of a dict with one key, "a".
func dictOf(value string) string { return proto + "}X\x01\x00\x00\x00a" + value + "s." }

// six returns an archive whose storage 0 has 6 float32.
func six(t testing.TB, pickle string, more ...member) []byte {
	t.Helper()
	x, err := tensor.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 6)
	if err != nil {
		t.Fatal(err)
	}
	return pack(t, append([]member{{name: "n/data.pkl", content: pickle}, {name: "n/data/0", content: string(x.Bytes)}}, more...)...)
}

const matrix = "K\x00K\x02K\x03\x86K\x03K\x01\x86" // offset 0, shape (2, 3), strides (3, 1)

func Example() {
	data := six(&testing.T{}, dictOf(tensorOf(floats6, "K\x00K\x03K\x02\x86K\x01K\x03\x86")))
	list, _ := read(data)
	x, err := list[0].Load()
	fmt.Println(list[0].Name, x.Shape, tensor.Values[float32](x), err)
	// Output: a [3 2] [1 4 2 5 3 6] <nil>
}

func TestReadRefuses(t *testing.T) {
	long := "X\xd0\x07\x00\x00" + strings.Repeat("x", 2000)
	for _, c := range []struct{ want, pickle string }{
		{`it names "os.system"`, dictOf("cos\nsystem\nX\x02\x00\x00\x00ls\x85R")},
		{`it names "posix.system"`, dictOf("\x8c\x05posix\x8c\x06system\x93X\x02\x00\x00\x00ls\x85R")},
		{`it names "builtins.eval"`, dictOf("cbuiltins\neval\nX\x01\x00\x00\x001\x85R")},
		{`it names "torch._utils.os.system"`, dictOf("ctorch._utils\nos.system\nX\x02\x00\x00\x00ls\x85R")},
		{`it names "torch.float32\nx"`, dictOf("\x8c\x05torch\x8c\x09float32\nx\x93")},
		{`it names "torch._utils._rebuild_qtensor"`, dictOf("ctorch._utils\n_rebuild_qtensor\n")},
		{`it names "torch.QInt8Storage"`, dictOf("ctorch\nQInt8Storage\n")},
		{"save module.state_dict()", dictOf("c__main__\nNet\n)\x81")},
		{"a name of more than 1000 bytes", dictOf("c" + strings.Repeat("x", 2000))},
		{"names a function by a text and a number", dictOf("\x8c\x05torchK\x01\x93")},
		{"opcode 0x81 at byte", dictOf("ccollections\nOrderedDict\n)\x81")},
		{"opcode 0x69", dictOf("(ios\nsystem\n")}, // INST, which names a class and makes an instance
		{"calls a function or a class torch.storage.UntypedStorage", dictOf("ctorch.storage\nUntypedStorage\n)R")},
		{"calls a text", dictOf("X\x01\x00\x00\x00a)R")},
		{"collections.OrderedDict: damaged, or not supported: argument 0 is a number, expected a list", dictOf("ccollections\nOrderedDict\nK\x01\x85R")},
		{"a dict of a number: expected pairs", dictOf("ccollections\nOrderedDict\nK\x01\x85\x85R")},
		{"sets the attributes of a list", dictOf("]}b")},
		{"the pickle appends to a number", dictOf("K\x01K\x02a")},
		{"the pickle sets 2 keys and values of a list", dictOf("]K\x01K\x02s")},
		{"sets 1 keys and values", proto + "}(K\x01u."},
		{"which it did not keep", dictOf("h\x07")},
		{"takes a value that is not there", proto + "."},
		{"takes a value that is not there", proto + "(."},
		{"takes a value that is not there", proto + "}K\x01(s."},
		{"ends a list that it did not begin", proto + "t."},
		{"the pickle ends", proto},
		{"the pickle ends", proto + "X\xff\xff\xff\xff"},
		{"before 18446744073709551615 more", proto + "\x8d\xff\xff\xff\xff\xff\xff\xff\xff"},
		{"an object that is not in the pickle", dictOf("X\x01\x00\x00\x00aQ")},
		{"a storage of class torch.float32", dictOf(strings.Replace(floats6, "FloatStorage", "float32", 1))},
		{"argument 2 is a number, expected a text", dictOf(strings.Replace(floats6, "X\x01\x00\x00\x000", "K\x00", 1))},
		{`storage "0" of -1 elements`, dictOf(strings.Replace(floats6, "K\x06", "J\xff\xff\xff\xff", 1))},
		{"is a part of another one", dictOf(strings.Replace(floats6, "tQ", "K\x01tQ", 1))},
		{"is there twice, otherwise", dictOf(floats6 + "0" + strings.Replace(floats6, "K\x06", "K\x07", 1))},
		{`storage "0" has 24 bytes, expected 28`, dictOf(tensorOf(strings.Replace(floats6, "K\x06", "K\x07", 1), matrix))},
		{"no member n/data/1", dictOf(tensorOf(strings.Replace(floats6, "\x000", "\x001", 1), matrix))},
		{"argument 0 is a number, expected a storage", dictOf(tensorOf("K\x01", matrix))},
		{"argument 1 is a list, expected a number", dictOf(tensorOf(floats6, "]]]"))},
		{"ends at element 7 of a storage of 6", dictOf(tensorOf(floats6, strings.Replace(matrix, "K\x00", "K\x01", 1)))},
		{"ends at element 7 of a storage of 6", dictOf(tensorOf(floats6, "K\x00K\x02K\x03\x86K\x04K\x01\x86"))},
		{"and offset -1", dictOf(tensorOf(floats6, strings.Replace(matrix, "K\x00", "J\xff\xff\xff\xff", 1)))},
		{"shape or strides with a number -1", dictOf(tensorOf(floats6, "K\x00J\xff\xff\xff\xff\x85K\x01\x85"))},
		{"a tensor of 1 dimensions, 2 strides", dictOf(tensorOf(floats6, "K\x00K\x02\x85K\x01K\x01\x86"))},
		{"65 dimensions, expected at most 64", dictOf(tensorOf(floats6, "K\x00("+strings.Repeat("K\x01", 65)+"tK\x01\x85"))},
		{"and the file has at most", dictOf(tensorOf(floats6, "K\x00J\x00\x00\x00\x7f\x85K\x00\x85"))},
		{"is too large", dictOf(tensorOf(floats6, "K\x00J\x00\x00\x00\x7fJ\x00\x00\x00\x7f\x86K\x00K\x00\x86"))},
		{"with strides [72057594037927936] is too large", dictOf(tensorOf(floats6, "K\x00K\x03\x85\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x01\x85"))},
		{"without an element type", dictOf(tensorOf(strings.Replace(floats6, "\nFloat", ".storage\nUntyped", 1), matrix))},
		{"the file holds a tensor", proto + tensorOf(floats6, matrix) + "."},
		{"the file holds nothing", proto + "N."},
		{"has a list as its key", proto + "}]" + tensorOf(floats6, matrix) + "s."},
		{"dicts in dicts deeper than 64", proto + strings.Repeat("}K\x01", 100) + "}" + strings.Repeat("s", 100) + "."},
		{"dicts that are there again and again", proto + "}q\x00K\x01h\x00s."}, // a dict in itself
		{"again and again", proto + "}q\x00" + bomb(40) + "."},
		{"again and again", proto + "]q\x00(}q\x01(" + strings.Repeat("NN", 1000) + "u" + strings.Repeat("h\x01", 3000) + "e."}, // keys without a name
		{"again and again", proto + "]q\x00(" + tensorOf(floats6, matrix) + "q\x01" + strings.Repeat("h\x01", 1000) + "e."},     // one tensor, many times
		{"the conjugate or the negative of another one", dictOf(rebuilder + "(" + floats6 + matrix + "\x89ccollections\nOrderedDict\n)R}X\x04\x00\x00\x00conj\x88stR")},
		{"again and again", proto + "}" + long + "q\x01" + strings.Repeat("}h\x01", 60) + "]" + strings.Repeat("s", 61) + "."},
	} {
		data := six(t, c.pickle)
		_, err := read(data)
		if !errors.Is(err, tensorfile.ErrFormat) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80q:\ngot %v\nexpected %q", c.pickle, err, c.want)
		}
	}
}

// bomb makes a dict that contains another one twice, n levels deep: 2^n paths.
func bomb(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "}(K\x01h%cK\x02h%cuq%c", i, i, i+1)
	}
	return b.String()
}

// TestLimits: a pickle cannot make more values than the limits allow, however short it is.
func TestLimits(t *testing.T) {
	for _, c := range []struct{ want, pickle string }{
		{"or 65536 at a time", strings.Repeat("]", maxStack+1)},
		{"more than 4194304 values", strings.Repeat("]0", maxValues+1)},
		{"more than 4194304 values", floats6 + "q\x00(" + strings.Repeat("K\x01", 64) + "tq\x01" + strings.Repeat(rebuilder+"(h\x00K\x00h\x01h\x01tR0", 33000)},
		{"more than 4194304 values", "](" + strings.Repeat("K\x01K\x01\x86", 1000) + "eq\x00" + strings.Repeat("ccollections\nOrderedDict\nh\x00\x85R0", 3000)},
	} {
		if _, err := unpickle(strings.NewReader(proto+c.pickle+"."), 1<<40); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: got %v, expected %q", c.pickle, err, c.want)
		}
	}
	endless := io.MultiReader(strings.NewReader(proto), repeated("K\x010"))
	if _, err := unpickle(endless, 1<<40); err == nil {
		t.Error("a pickle without an end is read")
	}
}

// repeated is a text, repeated endlessly.
type repeated string

func (r repeated) Read(b []byte) (int, error) {
	n := 0
	for len(b)-n >= len(r) {
		n += copy(b[n:], r)
	}
	return n, nil
}

func TestReadArchiveRefuses(t *testing.T) {
	good := dictOf(tensorOf(floats6, matrix))
	if list, err := read(six(t, good)); err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	for want, data := range map[string][]byte{
		"a program of TorchScript": six(t, good, member{name: "n/constants.pkl"}),
		"byte order \"middle\"":    six(t, good, member{name: "n/byteorder", content: "middle"}),
		"is there twice":           six(t, good, member{name: "n/data/0"}),
		"data.pkl is compressed":   pack(t, member{name: "n/data.pkl", content: good, method: zip.Deflate}),
		"data/0 is compressed":     pack(t, member{name: "n/data.pkl", content: good}, member{name: "n/data/0", content: strings.Repeat("x", 24), method: zip.Deflate}),
		"no member n/data/0":       pack(t, member{name: "n/data.pkl", content: good}),
	} {
		if _, err := read(data); !errors.Is(err, tensorfile.ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}

// TestLyingSizes: a member cannot be larger than the file, whatever the archive says.
func TestLyingSizes(t *testing.T) {
	data := six(t, dictOf(tensorOf(floats6, matrix)))
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		if f.Name == "n/data/0" {
			f.UncompressedSize64, f.CompressedSize64 = 1<<52, 1<<52
		}
	}
	if _, err := ReadArchive(z, bytes.NewReader(data), int64(len(data))); !errors.Is(err, tensorfile.ErrFormat) || !strings.Contains(err.Error(), "of a file of") {
		t.Errorf("got %v", err)
	}
}

// TestBigEndian: elements of a machine with the other byte order, including the parts of complex numbers.
func TestBigEndian(t *testing.T) {
	for _, class := range []string{"Float", "ComplexFloat"} {
		x, n := tensor.New(tensor.Float32, 4), 4
		for i := range tensor.Values[float32](x) {
			tensor.Values[float32](x)[i] = float32(i) + 0.5
		}
		if class == "ComplexFloat" {
			n = 2
		}
		storage := strings.NewReplacer("Float", class, "K\x06", "K"+string(rune(n))).Replace(floats6)
		swapped := slices.Clone(x.Bytes)
		tensorfile.Swap(swapped, 4)
		list, err := read(pack(t, member{name: "n/data.pkl", content: dictOf(tensorOf(storage, "K\x00K"+string(rune(n))+"\x85K\x01\x85"))},
			member{name: "n/data/0", content: string(swapped)}, member{name: "n/byteorder", content: "big"}))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := list[0].Load(); err != nil || !bytes.Equal(got.Bytes, x.Bytes) {
			t.Errorf("%s: got %v, %v, expected %v", class, got, err, x.Bytes)
		}
	}
}

// TestDamage: the archive's checksum detects changed elements; a file truncated anywhere is an error.
func TestDamage(t *testing.T) {
	data := six(t, dictOf(tensorOf(floats6, matrix)))
	at := bytes.Index(data, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40}) // 1, 2
	elements := slices.Clone(data[at : at+24])
	data[at]++
	list, err := read(data)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := list[0].Load(); !errors.Is(err, tensorfile.ErrFormat) || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("changed elements: %v", err)
	}
	without := bytes.ReplaceAll(data, binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(elements)), make([]byte, 4))
	if list, err = read(without); err != nil {
		t.Fatal(err)
	}
	if _, err := list[0].Load(); err != nil {
		t.Errorf("an archive without checksums, as PyTorch's set_crc32_options(False) writes it: %v", err)
	}
	for _, name := range []string{"kinds.pt", "legacy.pt"} {
		data, err := os.ReadFile(recorded + name)
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; n < len(data); n += 13 {
			if _, err := read(data[:n]); !errors.Is(err, tensorfile.ErrFormat) {
				t.Errorf("%s, %d of %d bytes: %v", name, n, len(data), err)
			}
		}
	}
}

// FuzzRead: what is read has the listed size, and no tensor is larger than the file; nothing panics.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"kinds", "legacy", "nested", "unsigned", "protocol4", "hostile", "hostile_legacy"} {
		data, err := os.ReadFile(recorded + name + ".pt")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := read(data)
		if err != nil {
			return
		}
		for _, e := range list {
			if e.Bytes() > int64(len(data)) {
				t.Fatalf("%s: %v%v of %d bytes", e.Name, e.DType, e.Shape, len(data))
			}
			if x, err := e.Load(); err == nil && int64(len(x.Bytes)) != e.Bytes() {
				t.Fatalf("%+v: %v", e, x.Shape)
			}
		}
	})
}

// FuzzPickle is FuzzRead with a pickle in an archive.
func FuzzPickle(f *testing.F) {
	f.Add([]byte(dictOf(tensorOf(floats6, matrix))))
	f.Add([]byte(proto + "}q\x00" + bomb(9) + "."))
	f.Fuzz(func(t *testing.T, pickle []byte) {
		data := six(t, string(pickle))
		list, err := read(data)
		if err != nil {
			return
		}
		for _, e := range list {
			if e.Bytes() > int64(len(data)) {
				t.Fatalf("%s: %v%v of %d bytes", e.Name, e.DType, e.Shape, len(data))
			}
			if x, err := e.Load(); err == nil && int64(len(x.Bytes)) != e.Bytes() {
				t.Fatalf("%+v: %v", e, x.Shape)
			}
		}
	})
}
