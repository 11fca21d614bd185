package inputs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"golang.org/x/sync/errgroup"

	"github.com/goestimator/goestimator/runconfig/violation"
	"github.com/goestimator/goestimator/tensor"
)

// Images describes a folder of images.
type Images struct {
	// Classes are the names of the folders, in the order of their labels; empty: all folders, sorted.
	Classes []string
	// Height and Width are the size that images are resized to; 0: the size of the first image, which all must have.
	Height, Width int
	// Channels of a pixel: 1 (grey) or 3; 0: 3.
	Channels int
	// Unlabeled leaves out the labels. The images may then lie in the folder itself, and dir may be a single image.
	Unlabeled bool
	// Missing allows classes without a folder, for evaluation and prediction.
	Missing bool
	// Names adds the column "file", with the name of each file below the folder.
	Names bool
	// Damaged leaves out damaged images; all images are decoded once to find them. Nil: the first damaged image read is an error.
	Damaged   *Damaged
	Allocator memory.Allocator
}

// ImageFolder returns the images of a folder with a subfolder per class, local or the URL of one in a bucket, as Keras' image_dataset_from_directory: "image"
// uint8[height, width, channels] and "label" int64. Images are PNG, JPEG, WebP, GIF (the first frame) or BMP by their content; files
// with other extensions are skipped. They are ordered by class and name. The result has random access; it decodes images when they are read, several at a time.
func ImageFolder(dir string, o Images) (Indexed, error) {
	return openImages(context.Background(), dir, o)
}

func openImages(ctx context.Context, dir string, o Images) (Indexed, error) {
	if o.Channels = cmp.Or(o.Channels, 3); o.Channels != 1 && o.Channels != 3 {
		return nil, fmt.Errorf("images have 1 or 3 channels, got %d", o.Channels)
	}
	if o.Height < 0 || o.Width < 0 || (o.Height == 0) != (o.Width == 0) || o.Height > 1<<14 || o.Width > 1<<14 {
		return nil, fmt.Errorf("images have a height and a width of 1 to %d pixels, got %d and %d: set both, or none for the size of the first image", 1<<14, o.Height, o.Width)
	}
	f, err := listFiles(ctx, dir, o, imageSuffixes)
	if err != nil {
		return nil, err
	}
	ctx = f.seen.in(ctx)
	if f.Height == 0 {
		if err := f.sizeOfFirst(ctx); err != nil {
			return nil, err
		}
	}
	if o.Damaged != nil {
		if err := f.skipDamaged(ctx); err != nil {
			return nil, err
		}
	}
	return f.dataset("images", Column{Name: "image", DType: imageColumnType, Shape: []int{f.Height, f.Width, f.Channels}})
}

// ImageClasses returns the class names of a folder of images, local or in a bucket: its subfolders, sorted.
func ImageClasses(dir string) ([]string, error) { return classesIn(context.Background(), dir) }

func classesIn(ctx context.Context, dir string) ([]string, error) {
	dir, err := localName(dir)
	if err != nil {
		return nil, err
	}
	names, _, err := contentOf(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("folder of classes: %w", err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no folders: expected one for each class, with its images", dir)
	}
	return names, nil
}

// isFolder reports whether an entry is a folder, or a link to one.
func isFolder(dir string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	st, err := os.Stat(filepath.Join(dir, e.Name()))
	return err == nil && st.IsDir()
}

// isFile reports whether an entry is a regular file or a link to one, not a pipe or device, which may have no end. A broken link
// counts as a file, so that reading it reports the error.
func isFile(dir string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.Type().IsRegular()
	}
	st, err := os.Stat(filepath.Join(dir, e.Name()))
	return err != nil || st.Mode().IsRegular()
}

// imageFolder is a list of images or other files, in a folder with a subfolder per class.
type imageFolder struct {
	Images
	dir      string
	suffixes []string // file extensions
	files    []string
	labels   []int64
	fixed    bool                                             // the size is the first image's
	decode   func(ctx context.Context, i int) ([]byte, error) // returns the bytes of a row's column
	seen     *seenObjects
}

func listFiles(ctx context.Context, dir string, o Images, suffixes []string) (*imageFolder, error) {
	dir, err := localName(dir)
	if err != nil {
		return nil, err
	}
	f := &imageFolder{Images: o, dir: dir, suffixes: suffixes, seen: newSeen(ctx)}
	f.decode = f.pixels
	if o.Unlabeled && isOneFile(dir, suffixes) {
		f.dir, f.files, f.labels = folderOf(dir), []string{dir}, []int64{0}
		return f, nil
	}
	if len(f.Classes) == 0 {
		classes, err := classesIn(ctx, dir)
		if err != nil && !o.Unlabeled {
			return nil, err
		}
		f.Classes = classes
	}
	if o.Unlabeled {
		if err := f.add(ctx, dir, 0); err != nil {
			return nil, err
		}
	}
	for i, class := range f.Classes {
		if err := f.add(ctx, inFolder(dir, class), int64(i)); err != nil {
			return nil, err
		}
	}
	if len(f.files) == 0 {
		return nil, fmt.Errorf("%w: no file of %s ends in %s", ErrEmpty, dir, strings.Join(suffixes, ", "))
	}
	return f, nil
}

var imageSuffixes = []string{".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp"}

// ImageExtensions returns the file extensions that ImageFolder reads, in lower case; case is ignored.
func ImageExtensions() []string { return slices.Clone(imageSuffixes) }

// add lists the images of a folder.
func (f *imageFolder) add(ctx context.Context, dir string, label int64) error {
	_, files, err := contentOf(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) && f.Missing && dir != f.dir {
		return nil
	}
	if err != nil && dir == f.dir {
		return fmt.Errorf("folder of files: %w", err)
	}
	if err != nil {
		return fmt.Errorf("files of class %d: %w: expected a folder for each of the classes %s", label, err, strings.Join(f.Classes, ", "))
	}
	for _, name := range files {
		if hasSuffix(name, f.suffixes) {
			f.files, f.labels = append(f.files, inFolder(dir, name)), append(f.labels, label)
		}
	}
	return nil
}

// sizeOfFirst sets the size to the first image's; with Damaged, to that of the first image that can be decoded.
func (f *imageFolder) sizeOfFirst(ctx context.Context) error {
	var damaged error
	for _, name := range f.files {
		first, err := readImage(ctx, name, f.Channels)
		if err == nil {
			f.Height, f.Width, f.fixed = first.h, first.w, true
			return nil
		}
		if f.Damaged == nil {
			return err
		}
		damaged = cmp.Or(damaged, err)
	}
	return f.allDamaged(damaged)
}

func (f *imageFolder) allDamaged(first error) error {
	return fmt.Errorf("all %d files of %s are damaged: %w", len(f.files), f.dir, first)
}

// skipDamaged leaves out files that cannot be decoded.
func (f *imageFolder) skipDamaged(ctx context.Context) error {
	failed := make([]error, len(f.files))
	var g errgroup.Group
	g.SetLimit(f.atOnce())
	for i := range f.files {
		g.Go(func() error {
			if failed[i] = ctx.Err(); failed[i] == nil {
				_, failed[i] = f.decode(ctx, i)
			}
			return nil
		})
	}
	_ = g.Wait() // failures are in failed
	if err := ctx.Err(); err != nil {
		return err
	}
	var files []string
	var labels []int64
	for i, err := range failed {
		if err == nil {
			files, labels = append(files, f.files[i]), append(labels, f.labels[i])
		} else if errors.As(err, new(*unreadObject)) {
			return err
		} else if err := f.Damaged.leaveOut(&damagedRow{f.files[i], 1, err}); err != nil {
			return err
		}
	}
	f.Damaged.ended()
	if len(files) == 0 {
		return f.allDamaged(failed[0])
	}
	f.files, f.labels = files, labels
	return nil
}

// atOnce is the number of files read in parallel. It is larger for a bucket, where reads mostly wait.
func (f *imageFolder) atOnce() int {
	n := runtime.GOMAXPROCS(0)
	if IsURL(f.dir) {
		return max(n, statsAtOnce)
	}
	return n
}

// pixels decodes an image and resizes it to the common size.
func (f *imageFolder) pixels(ctx context.Context, i int) ([]byte, error) {
	im, err := readImage(ctx, f.files[i], f.Channels)
	if err != nil {
		return nil, err
	}
	if im.h == f.Height && im.w == f.Width {
		return im.pixels, nil
	}
	if f.fixed {
		return nil, fileError(f.files[i], "image has %d x %d pixels, the first one %d x %d: set the height and width to which all are resized", im.h, im.w, f.Height, f.Width)
	}
	pixels, err := im.resized(f.Height, f.Width)
	if err != nil {
		return nil, &DataError{File: f.files[i], Err: err}
	}
	return pixels, nil
}

// dataset returns the files as rows of one column, with their labels.
func (f *imageFolder) dataset(format string, column Column) (Indexed, error) {
	columns := []Column{column}
	if !f.Unlabeled {
		columns = append(columns, labelColumn)
	}
	if f.Names {
		columns = append(columns, Column{Name: fileColumn, DType: tensor.String, Role: Feature})
	}
	s, err := NewSchema(columns...)
	if err != nil {
		return nil, err
	}
	n := &node{schema: s, mem: alloc(f.Allocator), origin: origin{files: f.files}, desc: fmt.Sprintf("%s(%s,%d,%s)[%s]", format, BaseName(f.dir), len(f.files), strings.Join(f.Classes, " "), s),
		place: func(row int64) DataError { return DataError{File: f.files[row]} }}
	return newIndexed(n, int64(len(f.files)), func(ctx context.Context, rows []int64) (arrow.Record, error) {
		return f.gather(f.seen.in(ctx), n, rows)
	}), nil
}

// fileColumn is the name of the column of file names.
const fileColumn = "file"

// gather returns the rows with these numbers. The error is the first failing row's.
func (f *imageFolder) gather(ctx context.Context, n *node, rows []int64) (arrow.Record, error) {
	size := n.schema.columns[0].Size() * n.schema.columns[0].DType.Size()
	mem := memoryOf(ctx, n.mem)
	images := newBuffer(mem, len(rows)*size)
	defer images.Release()
	if err := f.decodeRows(ctx, rows, images.Bytes(), size); err != nil {
		return nil, err
	}
	fields := n.schema.arrow.Fields()
	columns := []arrow.Array{denseArray(fields[0].Type, len(rows), images)}
	if !f.Unlabeled {
		columns = append(columns, f.labelsOf(mem, rows))
	}
	if f.Names {
		columns = append(columns, f.namesOf(mem, fields[len(fields)-1].Type, rows))
	}
	rec := array.NewRecord(n.schema.arrow, columns, int64(len(rows)))
	for _, c := range columns {
		c.Release()
	}
	return rec, nil
}

// decodeRows decodes files into their places in out, several at a time.
func (f *imageFolder) decodeRows(ctx context.Context, rows []int64, out []byte, size int) error {
	failed := make([]error, len(rows))
	var next atomic.Int64
	var g errgroup.Group
	for range min(f.atOnce(), len(rows)) {
		g.Go(func() error {
			for i := int(next.Add(1)) - 1; i < len(rows); i = int(next.Add(1)) - 1 {
				if failed[i] = ctx.Err(); failed[i] != nil {
					return nil
				}
				var row []byte
				if row, failed[i] = f.decode(ctx, int(rows[i])); failed[i] == nil {
					copy(out[i*size:], row)
				}
			}
			return nil
		})
	}
	_ = g.Wait() // failures are in failed
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *imageFolder) labelsOf(mem memory.Allocator, rows []int64) arrow.Array {
	labels := newBuffer(mem, len(rows)*8)
	defer labels.Release()
	ids := arrow.Int64Traits.CastFromBytes(labels.Bytes())
	for i, row := range rows {
		ids[i] = f.labels[row]
	}
	return denseArray(arrow.PrimitiveTypes.Int64, len(rows), labels)
}

// namesOf returns file paths relative to the folder, with slashes.
func (f *imageFolder) namesOf(mem memory.Allocator, t arrow.DataType, rows []int64) arrow.Array {
	b := array.NewBinaryBuilder(mem, t.(arrow.BinaryDataType))
	defer b.Release()
	for _, row := range rows {
		b.AppendString(belowFolder(f.dir, f.files[row]))
	}
	return b.NewArray()
}

// images opens the folder of images of a spec.
func (s Spec) images(ctx context.Context, ic Context) (Dataset, error) {
	o := Images{Classes: s.Classes, Channels: s.Channels, Unlabeled: ic.unlabeled(), Missing: ic.Mode != Train,
		Names: len(s.Columns) > 0, Damaged: s.damaged(ic), Allocator: ic.Allocator}
	if len(s.ImageSize) == 2 {
		o.Height, o.Width = s.ImageSize[0], s.ImageSize[1]
	}
	ds, err := openImages(ctx, s.Files[0], o)
	if err != nil {
		return nil, err
	}
	return ds, nil
}

// ClassNames returns the names of the classes of a folder of images, nil for other formats.
func (s Spec) ClassNames() ([]string, error) {
	if !s.ofFolders() || len(s.Classes) > 0 || len(s.Files) != 1 {
		return s.Classes, nil
	}
	return ImageClasses(s.Files[0])
}

// ofFolders reports whether the rows are files in a folder with a subfolder per class.
func (s Spec) ofFolders() bool { return s.Format == "images" || s.Format == "audio" }

// filesAlone reports whether the only listed columns are of file names, as texts and features.
func (s Spec) filesAlone() bool {
	return !slices.ContainsFunc(s.Columns, func(c ColumnSpec) bool {
		named := c.Name == fileColumn && c.Role == Feature && (c.DType == "" || c.DType == "string")
		return !named || len(s.Columns) > 1 || len(c.Vocabulary)+len(c.Shape) > 0 || c.Ragged || c.Default != nil
	})
}

func (s Spec) validateImages(vs *violation.List) {
	vs.Require(len(s.Files) == 1, "files", s.Files, "expected one folder, which has a folder of images for each class")
	vs.Require(s.filesAlone(), "columns", len(s.Columns), "expected none but file, without other keys: images have the columns image and label, and with it the name of the file")
	vs.Require(len(s.ImageSize) == 0 || len(s.ImageSize) == 2, "image_size", s.ImageSize, "expected [height, width]")
	for i, n := range s.ImageSize {
		vs.Require(n > 0 && n <= 1<<14, "image_size["+strconv.Itoa(i)+"]", n, "expected 1 to 16384")
	}
	vs.OneOf("channels", strconv.Itoa(s.Channels), "0", "1", "3")
	for i, c := range s.Classes {
		vs.Require(c != "" && c == filepath.Base(c) && !slices.Contains(s.Classes[:i], c), "classes["+strconv.Itoa(i)+"]", c, "expected the name of a folder, each once")
	}
}
