package inputs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "gocloud.dev/blob/memblob"
	_ "gocloud.dev/blob/s3blob"

	"github.com/goestimator/goestimator/internal/platform/bucket"
	"github.com/goestimator/goestimator/internal/testkit/s3server"
)

// newStore starts an object store with a bucket for this test: buckets stay open.
func newStore(t *testing.T) (web *s3server.Server, url func(key string) string) {
	t.Helper()
	name := "data-" + strings.ToLower(strings.NewReplacer("/", "-", "_", "-", "#", "-").Replace(t.Name()))
	return s3server.New(t, name), func(key string) string { return "s3://" + name + "/" + key + "?use_path_style=true" }
}

// tableText returns a CSV text with the columns x and y, a few megabytes for 150,000 rows.
func tableText(rows int) []byte {
	var b bytes.Buffer
	b.WriteString("x,y\n")
	for i := range rows {
		fmt.Fprintf(&b, "%d,name %d\n", i, i%97)
	}
	return b.Bytes()
}

var objectColumns = []ColumnSpec{{Name: "x", DType: "int64"}, {Name: "y", DType: "string"}}

// objectCases returns inputs of each format with local files.
func objectCases(t testing.TB) map[string]Spec {
	t.Helper()
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	large := tableText(150_000)
	csv := func(files ...string) Spec {
		return Spec{Format: "csv", Files: files, Columns: objectColumns, Header: true, Delimiter: ","}
	}
	return map[string]Spec{
		"csv":        csv(file("a.csv", large), file("b.csv", tableText(3))),
		"csv packed": csv(file("a.csv.gz", packed(t, large))),
		"jsonl": {Format: "jsonl", Columns: objectColumns,
			Files: []string{file("a.jsonl", []byte("{\"x\":1,\"y\":\"a\"}\n{\"x\":2,\"y\":\"b\"}\n")), file("b.jsonl", []byte("{\"x\":3,\"y\":\"c\"}\n"))}},
		"tfrecord": {Format: "tfrecord", Columns: objectColumns,
			Files: []string{file("a.tfrecord", records(t, map[string]any{"x": []int64{4}, "y": []string{"q"}}, map[string]any{"x": []int64{5}, "y": []string{""}}))}},
		"parquet": {Format: "parquet", Files: []string{"testdata/snappy.parquet", "testdata/zstd.parquet"}, Columns: []ColumnSpec{{Name: "f32", Default: 2.5}}},
		"arrow":   {Format: "arrow", Files: []string{"testdata/plain.arrow", "testdata/stream.arrow"}, Columns: []ColumnSpec{{Name: "f32", Default: 2.5}}},
		"npy":     {Format: "npy", Files: []string{"testdata/numpy/x.npy", "testdata/numpy/y.npy"}},
		"npz":     {Format: "npz", Files: []string{"testdata/numpy/kinds.npz", "testdata/numpy/more.npz"}},
		"cifar10": {Format: "cifar10", Files: []string{file("batch.bin", make([]byte, 3*cifarRecord))}},
		"idx":     {Format: "idx", Images: file("images.idx", []byte{0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 4}), Labels: file("labels.idx", []byte{0, 0, 8, 1, 0, 0, 0, 2, 7, 9})},
	}
}

// moved returns an input whose files were moved.
func moved(t testing.TB, s Spec, to func(name string, data []byte) string) Spec {
	t.Helper()
	move := func(name string) string {
		if name == "" {
			return ""
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return to(filepath.Base(name), data)
	}
	s.Images, s.Labels = move(s.Images), move(s.Labels)
	files := s.Files
	s.Files = nil
	for _, f := range files {
		s.Files = append(s.Files, move(f))
	}
	return s
}

// rowsOfInput reads an input; halfway it continues from its state in another pass.
func rowsOfInput(t testing.TB, s Spec, ic Context) []string {
	t.Helper()
	s.BatchSize = 20_011
	if s.Format != "csv" {
		s.BatchSize = 1
	}
	ds := must[Dataset](t)(Open(t.Context(), s, ic))
	first := iterate(t, ds)
	out := drain(t, first, ds.Schema(), 2)
	state, err := first.State()
	if err != nil {
		t.Fatal(err)
	}
	again := iterate(t, ds)
	if err := again.Restore(state); err != nil {
		t.Fatal(err)
	}
	return append(out, drain(t, again, ds.Schema(), 1000)...)
}

// Each format has the same rows from an object store as from local files.
func TestObjectsOfEachFormat(t *testing.T) {
	web, url := newStore(t)
	mem, err := buckets.Open(t.Context(), "mem://inputs")
	if err != nil {
		t.Fatal(err)
	}
	for name, local := range objectCases(t) {
		want := rowsOfInput(t, local, Context{})
		if len(want) < 2 {
			t.Fatalf("%s: %d batches", name, len(want))
		}
		for scheme, to := range map[string]func(string, []byte) string{
			"s3": func(key string, data []byte) string { web.Put("in/"+key, string(data)); return url("in/" + key) },
			"mem": func(key string, data []byte) string {
				if err := mem.WriteAll(t.Context(), key, data, nil); err != nil {
					t.Fatal(err)
				}
				return "mem://inputs/" + key
			},
			"file": func(key string, data []byte) string { return "file://" + write(t, key, data) },
		} {
			if testing.Short() && scheme != "s3" {
				continue // the same goroutines read them
			}
			got := rowsOfInput(t, moved(t, local, to), Context{Allocator: checked(t)})
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s by %s: %.500s", name, scheme, d)
			}
		}
	}
}

// Globs of URLs find objects in order, and pipelines share these by files.
func TestObjectGlobs(t *testing.T) {
	web, url := newStore(t)
	for i := range 4 {
		web.Put(fmt.Sprintf("train/part-%d.csv", i), fmt.Sprintf("x,y\n%d,a\n", i))
	}
	web.Put("train/notes.txt", "no table")
	spec := Spec{Format: "csv", Files: []string{url("train/part-*.csv")}, Columns: []ColumnSpec{{Name: "x", DType: "int64", Role: Label}, {Name: "y", DType: "string"}}, Header: true, Delimiter: ",", BatchSize: 1}
	files, err := Expand(spec.Files...)
	if err != nil || len(files) != 4 || files[3] != url("train/part-3.csv") {
		t.Fatalf("%q, %v", files, err)
	}
	var got []int64
	for i := range 2 {
		c := spec
		c.BatchSize = 2
		got = append(got, flat(ids(t, must[Dataset](t)(Open(t.Context(), c, Context{Pipeline: i, NumPipelines: 2, ReplicasInSync: 2}))))...)
	}
	if d := cmp.Diff([]int64{0, 2, 1, 3}, got); d != "" {
		t.Error(d)
	}
	if n := web.Reads("train/notes.txt"); n != 0 {
		t.Errorf("an object that does not match was read %d times", n)
	}
}

// Folders of images and sounds have the same rows in a bucket as locally, with file names that have to be escaped in a URL.
func TestObjectsOfClasses(t *testing.T) {
	web, url := newStore(t)
	for format, files := range map[string]map[string][]byte{
		"images": {"black cat/1.png": pngOf(t, drawn(4, 6, 1)), "black cat/2 %41.png": pngOf(t, drawn(4, 6, 2)), "dog/3.PNG": pngOf(t, drawn(4, 6, 3)), "dog/.hidden.png": {}, "dog/notes.txt": {}, "dog/deep/4.png": {}},
		"audio":  {"bird/1.wav": wavFile(1, 8000, half, 0), "dog/2.wav": wavFile(1, 8000, 0, half), ".hidden/3.wav": {}},
	} {
		local := imageFiles(t, files)
		for name, data := range files {
			web.Put(format+"/"+name, string(data))
		}
		web.Put(format+"/dog/", "")    // as consoles mark folders
		web.Put(format+"//4.png", "x") // in a folder without a name
		web.Put(format+"/dog//5.wav", "x")
		spec := Spec{Format: format, Files: []string{local}, Columns: []ColumnSpec{{Name: "file", DType: "string"}}}
		want := rowsOfInput(t, spec, Context{})
		spec.Files = []string{url(format)}
		if d := cmp.Diff(want, rowsOfInput(t, spec, Context{Allocator: checked(t)})); d != "" || len(want) < 2 {
			t.Errorf("%s: %d rows, %.500s", format, len(want), d)
		}
		spec.Files = []string{"file://" + filepath.ToSlash(local)}
		if d := cmp.Diff(want, rowsOfInput(t, spec, Context{Allocator: checked(t)})); d != "" {
			t.Errorf("%s by file: %.500s", format, d)
		}
	}
	for _, dir := range []string{url("images"), "file://" + filepath.ToSlash(imageFiles(t, map[string][]byte{"black cat/1.png": nil, "dog/2.png": nil}))} {
		names, err := Spec{Format: "images", Files: []string{dir}}.ClassNames()
		if d := cmp.Diff([]string{"black cat", "dog"}, names); d != "" || err != nil {
			t.Errorf("%s: %v: %s", dir, err, d)
		}
	}
	one := must[Indexed](t)(ImageFolder(url("images/dog/3.PNG"), Images{Unlabeled: true, Names: true}))
	if got := fileNames(t, one, 0); len(got) != 1 || got[0] != "3.PNG" {
		t.Errorf("one object: %q", got)
	}
	if got := fileNames(t, must[Indexed](t)(ImageFolder(url("images/dog"), Images{Unlabeled: true, Names: true})), 0); len(got) != 1 {
		t.Errorf("a folder without classes: %q", got)
	}
}

// An object that is too large is damaged, like a file.
func TestObjectTooLarge(t *testing.T) {
	web, url := newStore(t)
	web.Put("a", "123")
	for most, want := range map[int64]string{3: "", 2: "it has more than 2 bytes"} {
		_, err := readUpTo(t.Context(), url("a"), most)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || errors.As(err, new(*unreadObject))) {
			t.Errorf("up to %d bytes: %v", most, err)
		}
	}
}

// Damaged images in a bucket are left out on request, but not images that the store fails to deliver; a replaced image is an error.
func TestObjectsOfClassesFail(t *testing.T) {
	web, url := newStore(t)
	for i := range 3 {
		web.Put(fmt.Sprintf("a/%d.png", i), string(pngOf(t, drawn(4, 6, uint8(i)))))
	}
	web.Put("a/3.png", "text")
	spec := func(onError string) Spec {
		return Spec{Format: "images", Files: []string{url("")}, OnError: onError, BatchSize: 2}
	}
	if err := readAll(spec(""), Context{}); err == nil || !strings.Contains(err.Error(), "a/3.png?use_path_style=true") || !strings.Contains(err.Error(), "image cannot be decoded") {
		t.Errorf("damaged: %v", err)
	}
	ds := must[Dataset](t)(Open(t.Context(), spec("skip"), Context{Allocator: checked(t)}))
	if n, err := pass(ds); n != 3 || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
	web.Put("a/1.png", string(pngOf(t, drawn(4, 6, 9))))
	if _, err := pass(ds); !errors.Is(err, bucket.ErrChanged) {
		t.Errorf("replaced: %v", err)
	}
	for name, want := range map[string]string{"none": "the bucket has no such folder", "a/none.png": "the bucket has no such object"} {
		s := spec("skip")
		s.Files = []string{url(name)}
		if err := readAll(s, Context{Mode: Predict}); err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	web.Answer = func(w http.ResponseWriter, r *http.Request, key string) bool {
		if key == "a/2.png" {
			w.WriteHeader(http.StatusForbidden)
		}
		return key == "a/2.png"
	}
	if err := readAll(spec("skip"), Context{}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("not given: %v", err)
	}
}

// Folders, named or matched, and ** stand for the objects below them, without hidden ones, and key=value folders are columns.
func TestObjectFolders(t *testing.T) {
	web, url := newStore(t)
	table, err := os.ReadFile("testdata/plain.arrow")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"year=2023/town=New%20York/a", "year=2024/town=Bern/b", "year=2024/_temporary/c", "year=2024/.d", "e"} {
		web.Put("clicks/"+key+".arrow", string(table))
	}
	web.Put("clicks/year=2024/_SUCCESS", "")
	web.Put("clicks/year=2024/", "")
	web.Put("clicks-old/x.arrow", "")
	for pattern, want := range map[string]string{
		"clicks":               "e.arrow year=2023/town=New%2520York/a.arrow year=2024/town=Bern/b.arrow",
		"clicks/":              "e.arrow year=2023/town=New%2520York/a.arrow year=2024/town=Bern/b.arrow",
		"clicks/year=2024":     "year=2024/town=Bern/b.arrow",
		"clicks/year=202[4-9]": "year=2024/town=Bern/b.arrow",
		"clicks/**/*.arrow":    "e.arrow year=2023/town=New%2520York/a.arrow year=2024/town=Bern/b.arrow",
		"clicks/**/town=*/b.*": "year=2024/town=Bern/b.arrow",
		"**/b.arrow":           "year=2024/town=Bern/b.arrow",
		"clicks/*":             "e.arrow year=2023/town=New%2520York/a.arrow year=2024/town=Bern/b.arrow",
		"clicks/*.arrow":       "e.arrow",
		"clicks/none/**":       "",
	} {
		files, err := Expand(url(pattern))
		for i, f := range files {
			files[i] = strings.TrimSuffix(strings.TrimPrefix(f, strings.TrimSuffix(url("clicks/"), "?use_path_style=true")), "?use_path_style=true")
		}
		if got := strings.Join(files, " "); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %s and %v, expected %s", pattern, got, err, want)
		}
	}
	ds := must[Dataset](t)(Open(t.Context(), Spec{Format: "arrow", Files: []string{url("clicks/year=*")}, Columns: []ColumnSpec{{Name: "town"}, {Name: "year"}}, BatchSize: 1}, Context{}))
	rows := fmt.Sprint(drain(t, iterate(t, ds), ds.Schema(), 1000))
	if !strings.Contains(rows, `["New York"];year[1] [] e707`) || !strings.Contains(rows, `["Bern"];year[1] [] e807`) {
		t.Errorf("the partitions are not read: %.500s", rows)
	}
}

// Names and patterns select the same objects as local files.
func TestObjectsAsFiles(t *testing.T) {
	web, url := newStore(t)
	local := t.TempDir()
	for _, key := range []string{"top", "_top", "_all/u", "c/e", "c/y=1/a", "c/y=1/.d", "c/y=1/_tmp/b", "c/_h/x", "c/_h/deep/x", "c/w.d/1", "c/z/_only", "c/z/q/r"} {
		web.Put(key, "x")
		name := filepath.Join(local, filepath.FromSlash(key))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, pattern := range strings.Fields(`c c/ c/_h _all * _* c/* c/_* c/_*/* c/y=* c/[yz]* c/y=1/.* c/y=1/[a]* c/*/_* c/*/_tmp/* c/*/*/r c/z/_o* c/_h/d*
		none* [c] c/[y _a[l]l/* */* */*/* */z */.* ** c/** c/**/* c/**/r c/**/q c/**/.d c/**/_h/* c/_h/** c/y=1/_tmp/** **/_tmp/* **/**/r */** c/z/**/q/**`) {
		var names, keys []string
		files, err := Expand(local + "/" + pattern)
		for _, name := range files {
			names = append(names, filepath.ToSlash(strings.TrimPrefix(name, local+string(filepath.Separator))))
		}
		objects, other := Expand(url(pattern))
		for _, name := range objects {
			keys = append(keys, strings.TrimPrefix(strings.TrimSuffix(name, "?use_path_style=true"), strings.TrimSuffix(url(""), "?use_path_style=true")))
		}
		if !slices.Equal(names, keys) || (err == nil) != (other == nil) {
			t.Errorf("%s: files %q, %v; objects %q, %v", pattern, names, err, keys, other)
		}
	}
}

// Errors of a URL or its object show the URL.
func TestObjectErrors(t *testing.T) {
	web, url := newStore(t)
	web.Put("dir/a.csv", "x,y\n1,a\n")
	for name, want := range map[string]string{
		url("none.csv"):              "the bucket has no such object: check the name",
		url("none-*.csv"):            "no file matches",
		url(""):                      "this is a bucket, expected an object: name the objects in it",
		url("a[.csv"):                "syntax error in pattern",
		"gs://bucket/a.csv":          "this binary does not hold gcs",
		"ftp://host/a.csv":           "got scheme ftp, expected s3, gs or azblob, or a path of this machine",
		"s3://a:b@bucket/a.csv":      "expected s3://BUCKET/PATH",
		"s3://bucket/a.csv?x=1":      "parameter x: expected one of",
		"file://elsewhere/a.csv":     "expected file:///PATH",
		"file:///no/such/file.csv":   "input file /no/such/file.csv does not exist",
		"s3://other-bucket-of/a.csv": "the bucket does not exist: check its name and the region",
	} {
		spec := Spec{Format: "csv", Files: []string{strings.Replace(name, "other-bucket-of/a.csv", "other-bucket-of/a.csv?use_path_style=true", 1)}, Columns: objectColumns, Header: true, Delimiter: ","}
		err := readAll(spec, Context{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(want, "no ") && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: got %v, expected %s", name, err, want)
		}
	}
	ds := Pipe(numbers(t, checked(t), 3), Snapshot("s3://bucket/snapshots"))
	if _, err := ds.Iterate(t.Context()); err == nil || !strings.Contains(err.Error(), "expected a folder of this machine") {
		t.Errorf("snapshot: %v", err)
	}
}

// An object that is replaced between epochs ends the data set; a new data set reads the new object.
func TestObjectReplaced(t *testing.T) {
	for _, format := range []string{"csv", "jsonl", "parquet"} {
		t.Run(format, func(t *testing.T) {
			web, url := newStore(t)
			spec := Spec{Format: format, Files: []string{url("a")}, Columns: objectColumns, Header: true, Delimiter: ",", BatchSize: 1}
			text := map[string]string{"csv": "x,y\n1,a\n", "jsonl": "{\"x\":1,\"y\":\"a\"}\n"}[format]
			if format == "parquet" {
				data, err := os.ReadFile("testdata/snappy.parquet")
				if err != nil {
					t.Fatal(err)
				}
				text, spec.Columns = string(data), []ColumnSpec{{Name: "f32", Default: 2.5}}
			}
			web.Put("a", text)
			ds := must[Dataset](t)(Open(t.Context(), spec, Context{Allocator: checked(t)}))
			if _, err := pass(ds); err != nil {
				t.Fatal(err)
			}
			web.Put("a", text) // same size and content, but another time
			_, err := pass(ds)
			var at *DataError
			if !errors.Is(err, bucket.ErrChanged) || !errors.As(err, &at) || at.File != url("a") {
				t.Errorf("got %v", err)
			}
			if err := readAll(spec, Context{}); err != nil {
				t.Errorf("a new data set: %v", err)
			}
		})
	}
}

// pass reads a data set once.
func pass(ds Dataset) (rows int64, err error) {
	it, err := ds.Iterate(context.Background())
	if err != nil {
		return 0, err
	}
	defer it.Close()
	for {
		rec, err := it.Next(context.Background())
		if eof(err) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows += rec.NumRows()
		rec.Release()
	}
}

// Responses that end early are requested again. If all do, that is an error, even if damaged rows are skipped.
func TestObjectCutShort(t *testing.T) {
	for format, text := range map[string]string{"csv": "x,y\n1,a\n2,b\n", "jsonl": "{\"x\":1,\"y\":\"a\"}\n{\"x\":2,\"y\":\"b\"}\n",
		"tfrecord": string(records(t, map[string]any{"x": []int64{4}, "y": []string{"q"}}))} {
		for _, times := range []int64{1, 1 << 30} {
			t.Run(fmt.Sprint(format, times), func(t *testing.T) {
				web, url := newStore(t)
				web.Put("a", text)
				var cut atomic.Int64
				web.Answer = func(w http.ResponseWriter, r *http.Request, _ string) bool {
					if r.Method != http.MethodGet || cut.Add(1) > times {
						return false
					}
					w.Header().Set("Content-Length", fmt.Sprint(len(text)))
					_, _ = io.WriteString(w, text[:9])
					return true
				}
				err := readAll(Spec{Format: format, Files: []string{url("a")}, Columns: objectColumns, Header: true, Delimiter: ",", OnError: "skip"}, Context{})
				if times == 1 && err != nil || times > 1 && (err == nil || !strings.Contains(err.Error(), "the store sent 9 bytes from byte 0 on") || !strings.Contains(err.Error(), url("a"))) {
					t.Errorf("got %v", err)
				}
			})
		}
	}
}

// A pass that waits for a store ends with its context, and with Close.
func TestObjectContext(t *testing.T) {
	web, url := newStore(t)
	web.Put("a.csv", string(tableText(10)))
	ds := must[Dataset](t)(Open(t.Context(), Spec{Format: "csv", Files: []string{url("a.csv")}, Columns: objectColumns, Header: true, Delimiter: ",", BatchSize: 2, Prefetch: 2}, Context{}))
	asked := make(chan struct{}, 100)
	web.Answer = func(_ http.ResponseWriter, r *http.Request, _ string) bool {
		if r.Method != http.MethodGet {
			return false
		}
		asked <- struct{}{}
		<-r.Context().Done()
		return true
	}
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		<-asked
		stop()
	}()
	it, err := ds.Iterate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := it.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := it.Close(); err != nil {
		t.Error(err)
	}
}

func TestJoin(t *testing.T) {
	for _, c := range [][3]string{
		{"data", "a.csv", filepath.Join("data", "a.csv")}, {"", "a.csv", "a.csv"}, {"", "./-", filepath.FromSlash("./-")}, {"data", "./-", filepath.Join("data", "-")}, {"data", "/tmp/a.csv", "/tmp/a.csv"}, {"data", "s3://b/a.csv", "s3://b/a.csv"},
		{"s3://b/dir/", "x/a.csv", "s3://b/dir/x/a.csv"}, {"s3://b?region=x", "a-*.csv", "s3://b/a-*.csv?region=x"}, {"file:///data", "a.csv", "file:///data/a.csv"},
	} {
		if got := Join(c[0], c[1]); got != c[2] {
			t.Errorf("%s and %s: got %s, expected %s", c[0], c[1], got, c[2])
		}
	}
	for name, want := range map[string]string{"s3://b/dir/a%20b.csv?region=x": "a b.csv", "dir/a%20.csv": "a%20.csv", "file:///x/y.csv": "y.csv"} {
		if got := BaseName(name); got != want {
			t.Errorf("%s: got %s", name, got)
		}
	}
}
