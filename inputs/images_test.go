package inputs

import (
	"bytes"
	"encoding/base64"
	"errors"
	stdimage "image"
	"image/color"
	"image/color/palette"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/image/bmp"
)

// drawn returns an image whose pixel (x, y) is (10x, 10y, level).
func drawn(h, w int, level uint8) stdimage.Image {
	im := stdimage.NewRGBA(stdimage.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			im.Set(x, y, color.RGBA{uint8(10 * x), uint8(10 * y), level, 255})
		}
	}
	return im
}

func pngOf(t testing.TB, im stdimage.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, im); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// webpDot is a lossless WebP image of one white pixel.
const webpDot = "UklGRiQAAABXRUJQVlA4TBgAAAAvAAAAAAfQ//73v/+BiOh/AAAAAAAAAAAA"

// imageFiles writes files below a folder and returns it.
func imageFiles(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func animals(t testing.TB) string {
	var j bytes.Buffer
	if err := jpeg.Encode(&j, drawn(4, 6, 200), &jpeg.Options{Quality: 100}); err != nil {
		t.Fatal(err)
	}
	return imageFiles(t, map[string][]byte{
		"dog/b.png": pngOf(t, drawn(4, 6, 1)), "dog/a.JPG": j.Bytes(), "cat/c.png": pngOf(t, drawn(4, 6, 3)), "cat/notes.txt": []byte("no image"), "cat/.hidden.png": {},
		"readme.md": nil, "newt/d.png": pngOf(t, drawn(4, 6, 9)),
	})
}

func TestImageFolder(t *testing.T) {
	ds := must[Indexed](t)(ImageFolder(animals(t), Images{Allocator: checked(t)}))
	if got := ds.Schema().String(); got != "image uint8[4 6 3] feature, label int64 label" {
		t.Fatalf("got %s", got)
	}
	if d := cmp.Diff([]int64{0, 1, 1, 2}, flat(ids(t, ds))); d != "" {
		t.Error(d)
	}
	rec, err := ds.Gather(t.Context(), []int64{2, 1})
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	ts, err := Tensors(rec, ds.Schema())
	if err != nil {
		t.Fatal(err)
	}
	pixels := ts[0].Tensor.Bytes
	at := func(i, y, x int) []byte { return pixels[((i*4+y)*6+x)*3:][:3] }
	if got := at(0, 3, 5); !bytes.Equal(got, []byte{50, 30, 1}) {
		t.Errorf("PNG: pixel %v", got)
	}
	if got := at(1, 0, 0); got[2] < 190 {
		t.Errorf("JPEG: pixel %v", got)
	}
	checkDataset(t, Pipe(ds, Shuffle(9, 1), Repeat(2), Batch(3, false), Prefetch(1)))
}

func TestImageOptions(t *testing.T) {
	dir := animals(t)
	ds := must[Indexed](t)(ImageFolder(dir, Images{Classes: []string{"newt", "cat"}, Height: 2, Width: 3, Channels: 1}))
	if got := ds.Schema().String(); got != "image uint8[2 3 1] feature, label int64 label" || ds.Len() != 2 {
		t.Errorf("got %s, %d rows", got, ds.Len())
	}
	ds = must[Indexed](t)(ImageFolder(filepath.Join(dir, "dog"), Images{Unlabeled: true}))
	if got := ds.Schema().String(); got != "image uint8[4 6 3] feature" || ds.Len() != 2 {
		t.Errorf("got %s, %d rows", got, ds.Len())
	}
	dot, err := base64.StdEncoding.DecodeString(webpDot)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := decodeImage(dot, 3); err != nil || p.h != 1 || p.w != 1 || !bytes.Equal(p.pixels, []byte{255, 255, 255}) {
		t.Errorf("WebP: %+v, %v", p, err)
	}
}

// TestImageNames: a column has the file names relative to the folder, and a single file may replace the folder if no label is needed.
func TestImageNames(t *testing.T) {
	dir := animals(t)
	ds := must[Indexed](t)(ImageFolder(dir, Images{Names: true, Allocator: checked(t)}))
	if got := ds.Schema().String(); got != "image uint8[4 6 3] feature, label int64 label, file string feature" {
		t.Errorf("got %s", got)
	}
	if got := fileNames(t, ds, 3, 0); !slices.Equal(got, []string{"newt/d.png", "cat/c.png"}) {
		t.Errorf("got %v", got)
	}
	one := filepath.Join(dir, "dog", "a.JPG")
	ds = must[Indexed](t)(ImageFolder(one, Images{Names: true, Unlabeled: true, Allocator: checked(t)}))
	if got := fileNames(t, ds, 0); ds.Len() != 1 || !slices.Equal(got, []string{"a.JPG"}) {
		t.Errorf("one file: got %v of %d", got, ds.Len())
	}
	if _, err := ImageFolder(one, Images{}); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("one file with its label: got %v", err)
	}
	if _, err := ImageFolder(filepath.Join(dir, "none"), Images{Unlabeled: true}); err == nil || !strings.Contains(err.Error(), "folder of files: open ") {
		t.Errorf("no such folder: got %v", err)
	}
	for _, o := range []Images{{}, {Unlabeled: true}} {
		if _, err := ImageFolder(filepath.Join(dir, "*", "a.JPG"), o); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "not by a glob: name the folder") {
			t.Errorf("a glob: got %v", err)
		}
	}
}

func fileNames(t *testing.T, ds Indexed, rows ...int64) (names []string) {
	t.Helper()
	rec, err := ds.Gather(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	ts, err := Tensors(rec, ds.Schema())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range ts[ds.Schema().Index("file")].Tensor.Strings {
		names = append(names, string(b))
	}
	return names
}

// TestGIFAndBMP: the first frame and palettes are read, in colour and in grey, and half a file is an error.
func TestGIFAndBMP(t *testing.T) {
	first, second := stdimage.NewPaletted(stdimage.Rect(0, 0, 3, 2), palette.WebSafe), stdimage.NewPaletted(stdimage.Rect(0, 0, 3, 2), palette.WebSafe)
	first.Set(2, 1, color.RGBA{0, 0xff, 0x33, 255})
	var animation, flat, paletted bytes.Buffer
	if err := gif.EncodeAll(&animation, &gif.GIF{Image: []*stdimage.Paletted{first, second}, Delay: []int{1, 1}}); err != nil {
		t.Fatal(err)
	}
	rgb := stdimage.NewRGBA(first.Rect)
	for y := range 2 {
		for x := range 3 {
			rgb.Set(x, y, first.At(x, y))
		}
	}
	for b, im := range map[*bytes.Buffer]stdimage.Image{&flat: rgb, &paletted: first} {
		if err := bmp.Encode(b, im); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range map[string][]byte{"gif": animation.Bytes(), "bmp": flat.Bytes(), "bmp with a palette": paletted.Bytes()} {
		p, err := decodeImage(data, 3)
		if err != nil || p.h != 2 || p.w != 3 || !bytes.Equal(p.pixels[15:], []byte{0, 0xff, 0x33}) || !bytes.Equal(p.pixels[:15], make([]byte, 15)) {
			t.Errorf("%s: got %+v, %v", name, p, err)
		}
		if p, err = decodeImage(data, 1); err != nil || !bytes.Equal(p.pixels, []byte{0, 0, 0, 0, 0, grey(0, 0xff, 0x33)}) {
			t.Errorf("%s in grey: got %+v, %v", name, p, err)
		}
		if p, err = decodeImage(data[:30], 3); err == nil {
			t.Errorf("half of %s: got %+v", name, p)
		}
	}
}

// TestDamagedImages: a damaged file is named, or left out and counted.
func TestDamagedImages(t *testing.T) {
	good := pngOf(t, drawn(4, 6, 1))
	dir := imageFiles(t, map[string][]byte{"a/1.png": good, "a/2.png": good[:len(good)/2], "a/3.jpg": []byte("\xff\xd8\xffgarbage"), "b/4.png": []byte("text"), "b/5.png": good, "b/6.webp": []byte("RIFF\x10\x00\x00\x00WEBPVP8 zzzz")})
	ds := must[Indexed](t)(ImageFolder(dir, Images{Allocator: checked(t)}))
	for row, name := range map[int64]string{1: "2.png", 2: "3.jpg", 3: "4.png: image cannot be decoded: it is not a PNG, JPEG, WebP, GIF or BMP image; replace it", 5: "6.webp"} {
		if _, err := ds.Gather(t.Context(), []int64{0, row}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("row %d: got %v", row, err)
		}
	}
	left := silent()
	ds = must[Indexed](t)(ImageFolder(dir, Images{Damaged: left, Allocator: checked(t)}))
	if got := flat(ids(t, ds)); !slices.Equal(got, []int64{0, 1}) || left.Count() != 4 || !strings.Contains(left.First().Error(), "2.png") || strings.Contains(left.First().Error(), "on_error") {
		t.Errorf("got %v, left out %q", got, left.First())
	}
}

func TestWrongImageFolders(t *testing.T) {
	im := pngOf(t, drawn(4, 6, 1))
	mixed := imageFiles(t, map[string][]byte{"a/1.png": im, "a/2.png": pngOf(t, drawn(5, 6, 1))})
	ds := must[Indexed](t)(ImageFolder(mixed, Images{}))
	_, sizes := ds.Gather(t.Context(), []int64{1})
	for want, err := range map[string]error{
		"no such file":   second(ImageFolder(filepath.Join(mixed, "none"), Images{})),
		"has no folders": second(ImageFolder(filepath.Join(mixed, "a"), Images{})),
		"no file of":     second(ImageFolder(imageFiles(t, map[string][]byte{"a/x.txt": nil}), Images{})),
		"expected a folder for each of the classes a, b": second(ImageFolder(mixed, Images{Classes: []string{"a", "b"}})),
		"1 or 3 channels, got 2":                         second(ImageFolder(mixed, Images{Channels: 2})),
		"set both, or none":                              second(ImageFolder(mixed, Images{Height: 3})),
		"2.png: image has 5 x 6 pixels, the first one 4 x 6: set the height and width": sizes,
		"all 1 files of": second(ImageFolder(imageFiles(t, map[string][]byte{"a/x.png": nil}), Images{Height: 1, Width: 1, Damaged: silent()})),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}

// TestResizedAsTensorFlow compares with tf.image.resize(..., antialias=True) of the same pixels, rounded.
func TestResizedAsTensorFlow(t *testing.T) {
	p := &picture{h: 5, w: 7, channels: 1}
	for i := range 35 {
		p.pixels = append(p.pixels, byte(i*i*37%256))
	}
	for size, want := range resizedCases {
		got, err := p.resized(size[0], size[1])
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if d := int(got[i]) - int(want[i]); d < -1 || d > 1 || len(got) != len(want) {
				t.Errorf("%v: got %v, want %v", size, got, want)
				break
			}
		}
	}
}

func TestImageSpec(t *testing.T) {
	dir := animals(t)
	spec := Spec{Format: "images", Files: []string{dir}, ImageSize: []int{2, 2}, OnError: "skip", BatchSize: 2, Shuffle: 9}
	for mode, want := range map[Mode]string{Train: "image uint8[2 2 3] feature, label int64 label", Predict: "image uint8[2 2 3] feature"} {
		ds, err := Open(t.Context(), spec, Context{Mode: mode, Pipeline: 1, NumPipelines: 2})
		if err != nil {
			t.Fatal(err)
		}
		if got := ds.Schema().String(); got != want {
			t.Errorf("%s: %s", mode, got)
		}
	}
	flat := Spec{Format: "images", Files: []string{filepath.Join(dir, "dog")}, Classes: []string{"cat", "dog"}, BatchSize: 2}
	if _, err := Open(t.Context(), flat, Context{Mode: Predict}); err != nil {
		t.Errorf("images in the folder itself: %v", err)
	}
	fewer := Spec{Format: "images", Files: []string{dir}, Classes: []string{"bee", "dog"}, BatchSize: 9}
	ds, err := Open(t.Context(), fewer, Context{Mode: Eval})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]int64{1, 1}, slices.Concat(ids(t, ds)...)); d != "" {
		t.Errorf("a class without a folder: %s", d)
	}
	if _, err := Open(t.Context(), fewer, Context{Mode: Train}); err == nil || !strings.Contains(err.Error(), "bee") {
		t.Errorf("a class without a folder in training: %v", err)
	}
	names, err := spec.ClassNames()
	if d := cmp.Diff([]string{"cat", "dog", "newt"}, names); d != "" || err != nil {
		t.Error(d, err)
	}
	bad := Spec{Format: "images", Files: []string{"a", "b"}, ImageSize: []int{3}, Channels: 2, OnError: "ignore", Classes: []string{"a/b", "c", "c"}, Delimiter: ",", Shard: "auto", BatchSize: 1}
	err = bad.Validate()
	for _, want := range []string{"files", "image_size", "channels", "on_error", "classes[0]", "classes[2]"} {
		if err == nil || !strings.Contains(err.Error(), want+":") {
			t.Errorf("%s is not in %v", want, err)
		}
	}
}

// TestFileColumn: for a folder, only the column of file names may be listed, and only with keys that have an effect.
func TestFileColumn(t *testing.T) {
	file := ColumnSpec{Name: "file"}
	for _, format := range []string{"images", "audio"} {
		for i, c := range []struct {
			columns []ColumnSpec
			ok      bool
		}{
			{nil, true}, {[]ColumnSpec{file}, true}, {[]ColumnSpec{{Name: "file", Kind: "categorical", DType: "string", Role: Feature}}, true},
			{[]ColumnSpec{{Name: "image"}}, false}, {[]ColumnSpec{file, file}, false}, {[]ColumnSpec{{Name: "file", Role: Label}}, false}, {[]ColumnSpec{{Name: "file", Role: Ignore}}, false},
			{[]ColumnSpec{{Name: "file", DType: "int64"}}, false}, {[]ColumnSpec{{Name: "file", Vocabulary: []string{"a"}}}, false}, {[]ColumnSpec{{Name: "file", Shape: []int{2}}}, false},
			{[]ColumnSpec{{Name: "file", Ragged: true}}, false}, {[]ColumnSpec{{Name: "file", Default: "x"}}, false},
		} {
			for k := range c.columns {
				c.columns[k].complete()
			}
			err := Spec{Format: format, Files: []string{"a"}, Delimiter: ",", Shard: "auto", BatchSize: 1, Columns: c.columns}.Validate()
			if c.ok != (err == nil) || err != nil && !strings.Contains(err.Error(), "expected none but file") {
				t.Errorf("%s, case %d: got %v", format, i, err)
			}
		}
	}
}

func FuzzImage(f *testing.F) {
	f.Add(pngOf(f, drawn(3, 2, 1)), true)
	f.Add([]byte("\xff\xd8\xffgarbage"), false)
	if dot, err := base64.StdEncoding.DecodeString(webpDot); err == nil {
		f.Add(dot, true)
	}
	f.Fuzz(func(t *testing.T, data []byte, grey bool) {
		channels := 3
		if grey {
			channels = 1
		}
		p, err := decodeImage(data, channels)
		if err == nil && len(p.pixels) != p.h*p.w*channels {
			t.Fatalf("%d bytes of %d x %d x %d", len(p.pixels), p.h, p.w, channels)
		}
	})
}
