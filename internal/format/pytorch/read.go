package pytorch

import (
	"archive/zip"
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/format/tensorfile"
	"github.com/goestimator/goestimator/tensor"
)

// The members of an archive, below a folder of any name.
const (
	pickleFile    = "data.pkl"
	byteOrderFile = "byteorder"
	constantsFile = "constants.pkl" // in TorchScript programs
)

// storageFiles finds storages in the file by their keys.
type storageFiles interface {
	// find returns the place of a storage with that many bytes.
	find(key string, size int64) (place, error)
}

// place is a storage in a file.
type place struct {
	r         io.ReaderAt                   // its bytes
	whole     func() (io.ReadCloser, error) // reads everything and compares the checksum; nil if there is none
	bigEndian bool
}

// IsArchive reports whether a ZIP file was written by PyTorch.
func IsArchive(z *zip.Reader) bool { return folderOf(z) != "" }

// folderOf returns the folder of an archive's members, with a trailing slash.
func folderOf(z *zip.Reader) string {
	for _, f := range z.File {
		dir, name := path.Split(f.Name)
		if name == pickleFile && strings.Count(dir, "/") == 1 {
			return dir
		}
	}
	return ""
}

// archive is a ZIP file in r.
type archive struct {
	r         io.ReaderAt
	size      int64 // of the file
	members   map[string]*zip.File
	folder    string
	bigEndian bool
}

// ReadArchive lists the tensors of an archive of size bytes that r reads, sorted by name. Damage, and refused content, are
// errors that wrap tensorfile.ErrFormat.
func ReadArchive(z *zip.Reader, r io.ReaderAt, size int64) ([]tensorfile.Entry, error) {
	a := &archive{r: r, size: size, members: map[string]*zip.File{}, folder: folderOf(z)}
	for _, f := range z.File {
		if a.members[f.Name] != nil {
			return nil, tensorfile.Errorf("member %q is there twice", f.Name)
		}
		a.members[f.Name] = f
	}
	if a.members[a.folder+constantsFile] != nil {
		return nil, tensorfile.Errorf("a program of TorchScript, which is not run: save module.state_dict()")
	}
	if err := a.byteOrder(); err != nil {
		return nil, err
	}
	data, n, err := a.open(pickleFile)
	if err != nil {
		return nil, err
	}
	made, err := unpickle(data, n)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pickleFile, err)
	}
	return entries(made.value, a, limits{file: size, pickle: made.size})
}

// open returns the content of a member, which must be stored uncompressed.
func (a *archive) open(name string) (*io.SectionReader, int64, error) {
	f := a.members[a.folder+name]
	if f == nil {
		return nil, 0, tensorfile.Errorf("no member %s%s", a.folder, name)
	}
	if f.Method != zip.Store || f.CompressedSize64 != f.UncompressedSize64 {
		return nil, 0, tensorfile.Errorf("member %s is compressed, which PyTorch does not do: unpack the archive and pack it with zip -0", f.Name)
	}
	at, err := f.DataOffset()
	if err != nil {
		return nil, 0, tensorfile.Errorf("member %s: %w", f.Name, err)
	}
	if at < 0 || at > a.size || f.UncompressedSize64 > uint64(a.size-at) {
		return nil, 0, tensorfile.Errorf("member %s of %d bytes at byte %d of a file of %d", f.Name, f.UncompressedSize64, at, a.size)
	}
	n := int64(f.UncompressedSize64)
	return io.NewSectionReader(a.r, at, n), n, nil
}

func (a *archive) byteOrder() error {
	if a.members[a.folder+byteOrderFile] == nil {
		return nil // before PyTorch 2.0: little-endian
	}
	r, n, err := a.open(byteOrderFile)
	if err != nil {
		return err
	}
	text := make([]byte, min(n, 10))
	if err := tensorfile.ReadFull(r, text, 0); err != nil {
		return err
	}
	a.bigEndian = string(text) == "big"
	if !a.bigEndian && string(text) != "little" {
		return tensorfile.Errorf("byte order %q, expected little or big", text)
	}
	return nil
}

func (a *archive) find(key string, size int64) (place, error) {
	name := "data/" + key
	r, n, err := a.open(name)
	if err != nil {
		return place{}, err
	}
	if n != size {
		return place{}, tensorfile.Errorf("storage %q has %d bytes, expected %d", key, n, size)
	}
	p := place{r: r, bigEndian: a.bigEndian}
	if f := a.members[a.folder+name]; f.CRC32 != 0 { // 0: PyTorch was told to omit it
		p.whole = f.Open
	}
	return p, nil
}

// limits bound what a file may claim.
type limits struct{ file, pickle int64 }

// namesPerByte is by how much paths may be longer than the keys in a pickle that form them.
const namesPerByte = 16

// entries lists the tensors of a pickle's value.
func entries(value any, files storageFiles, l limits) ([]tensorfile.Entry, error) {
	all, err := namedOf(value, namesPerByte*min(l.pickle, maxPickle)+1000)
	if err != nil {
		return nil, err
	}
	out := make([]tensorfile.Entry, 0, len(all))
	for _, n := range all {
		e, err := n.entry(files, l.file)
		if err != nil {
			return nil, fmt.Errorf("tensor %.200q: %w", n.name, err)
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b tensorfile.Entry) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// entry compares the description of a tensor with its storage and with the size of the file: even a tensor whose
// strides repeat elements must not be larger than the file.
func (n named) entry(files storageFiles, size int64) (tensorfile.Entry, error) {
	e := tensorfile.Entry{Name: n.name, DType: n.dtype}
	var err error
	if e.Shape, err = tensorfile.ShapeOf(n.dims, n.dtype.Size(), size); err != nil {
		return e, err
	}
	extent, err := n.extent()
	if err != nil {
		return e, err
	}
	if n.storage.count == 0 && extent == 0 {
		e.Load = func() (*tensor.Tensor, error) { return tensor.New(e.DType, e.Shape...), nil }
		return e, nil
	}
	p, err := files.find(n.storage.key, n.storage.size())
	if err != nil {
		return e, err
	}
	e.Load = func() (*tensor.Tensor, error) { return n.load(p, extent, e.Shape) }
	return e, nil
}

// load reads the elements.
func (n named) load(p place, extent int64, shape []int) (*tensor.Tensor, error) {
	t := tensor.New(n.dtype, shape...)
	if extent == 0 {
		return t, nil
	}
	b, size := t.Bytes, int64(n.dtype.Size())
	plain := n.contiguous()
	if !plain {
		b = make([]byte, extent*size)
	}
	if err := p.read(b, n.offset*size, n.storage.size()); err != nil {
		return nil, err
	}
	if !plain {
		n.gather(t, b)
	}
	if p.bigEndian {
		tensorfile.Swap(t.Bytes, wordOf(n.dtype))
	}
	if n.dtype == tensor.Bool {
		tensor.NormalizeBools(t.Bytes)
	}
	return t, nil
}

// read fills b from an offset in the storage; it compares the checksum if b is all of it.
func (p place) read(b []byte, offset, size int64) error {
	if p.whole == nil || offset != 0 || int64(len(b)) != size {
		return tensorfile.ReadFull(p.r, b, offset)
	}
	r, err := p.whole()
	if err != nil {
		return tensorfile.Errorf("%w", err)
	}
	defer r.Close()
	if _, err := io.ReadFull(r, b); err != nil {
		return tensorfile.Errorf("%w", err)
	}
	if n, err := io.Copy(io.Discard, r); n != 0 || err != nil { // the checksum is compared at the end
		return tensorfile.Errorf("%d bytes more, %w", n, err)
	}
	return nil
}

// wordOf is the size of the unit of byte order: for a complex number, one of its parts.
func wordOf(d tensor.DType) int {
	if d == tensor.Complex64 || d == tensor.Complex128 {
		return d.Size() / 2
	}
	return d.Size()
}
