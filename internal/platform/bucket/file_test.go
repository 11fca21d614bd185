package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/goestimator/goestimator/internal/testkit/s3server"
	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"
	_ "gocloud.dev/blob/s3blob"
	"pgregory.net/rapid"
)

// pattern is content without repetition.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8*13 + i>>16)
	}
	return b
}

func inMemory(t *testing.T, content []byte) (*blob.Bucket, *File) {
	t.Helper()
	b := memblob.OpenBucket(nil)
	t.Cleanup(func() { b.Close() })
	if err := b.WriteAll(t.Context(), "a", content, nil); err != nil {
		t.Fatal(err)
	}
	v, err := Stat(t.Context(), b, "a")
	if err != nil {
		t.Fatal(err)
	}
	f := OpenFile(t.Context(), b, "a", v)
	t.Cleanup(func() { f.Close() })
	return b, f
}

// A file reads, seeks and ends as the standard library expects, also at the ends of blocks.
func TestFile(t *testing.T) {
	for _, n := range []int{0, 1, 1000, blockBytes - 1, blockBytes, blockBytes + 1, 3*blockBytes + 5} {
		_, f := inMemory(t, pattern(n))
		if n <= 1000 {
			if err := iotest.TestReader(f, pattern(n)); err != nil {
				t.Errorf("%d bytes: %v", n, err)
			}
			continue
		}
		if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, pattern(n)) || f.Size() != int64(n) {
			t.Errorf("%d bytes: got %d, %v", n, len(got), err)
		}
	}
}

// Reads at any offsets return the right data, and keep few blocks.
func TestReadAt(t *testing.T) {
	const size = 12*blockBytes + 77
	want := pattern(size)
	_, f := inMemory(t, want)
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.Int64Range(0, size+1).Draw(t, "at")
		p := make([]byte, rapid.SampledFrom([]int{0, 1, 100, blockBytes, 2*blockBytes + 3}).Draw(t, "n"))
		n, err := f.ReadAt(p, at)
		expected := min(int64(len(p)), max(size-at, 0))
		if int64(n) != expected || (err != nil) != (n < len(p)) || err != nil && !errors.Is(err, io.EOF) || n > 0 && !bytes.Equal(p[:n], want[at:at+int64(n)]) {
			t.Fatalf("%d bytes at %d: got %d, %v", len(p), at, n, err)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if len(f.blocks) > kept {
			t.Fatalf("%d blocks are held", len(f.blocks))
		}
	})
}

func TestClosed(t *testing.T) {
	_, f := inMemory(t, pattern(100))
	f.Close()
	if _, err := f.ReadAt(make([]byte, 1), 0); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a closed file: %v", err)
	}
	if _, err := f.Seek(-1, io.SeekStart); err == nil {
		t.Error("a place before the object is taken")
	}
}

// An object that was replaced is not read as if it were the old one.
func TestReplaced(t *testing.T) {
	b, f := inMemory(t, pattern(100))
	if err := b.WriteAll(t.Context(), "a", pattern(101), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := f.ReadAt(make([]byte, 10), 0); !errors.Is(err, ErrChanged) {
		t.Errorf("got %v", err)
	}
}

func s3Bucket(t *testing.T, name string) *blob.Bucket {
	t.Helper()
	b, err := Open(t.Context(), "s3://"+name+"?use_path_style=true")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// The store's answers are checked, and requested again if that may help.
func TestDamaged(t *testing.T) {
	content := string(pattern(5000))
	for name, c := range map[string]struct {
		fail  func(w http.ResponseWriter) // an answer
		times int64
		want  string // "": it succeeds
	}{
		"short once": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "5000")
			_, _ = io.WriteString(w, content[:100])
		}, 1, ""},
		"short always": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "5000")
			_, _ = io.WriteString(w, content[:100])
		}, 1000, "the store sent 100 bytes from byte 0 on, expected 5000"},
		"busy once":    {func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }, 1, ""},
		"another size": {func(w http.ResponseWriter) { _, _ = io.WriteString(w, content[:100]) }, 1000, ErrChanged.Error()},
		"refused":      {func(w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) }, 1000, "no permission: check the credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			web := s3server.New(t, "data")
			web.Put("a", content)
			var failed atomic.Int64
			web.Answer = func(w http.ResponseWriter, r *http.Request, _ string) bool {
				if r.Method != http.MethodGet || failed.Add(1) > c.times {
					return false
				}
				c.fail(w)
				return true
			}
			b := s3Bucket(t, "data")
			v, err := Stat(t.Context(), b, "a")
			if err != nil {
				t.Fatal(err)
			}
			f := OpenFile(t.Context(), b, "a", v)
			defer f.Close()
			got, err := io.ReadAll(f)
			switch {
			case c.want == "" && (err != nil || string(got) != content):
				t.Errorf("got %d bytes, %v", len(got), err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, expected %s", err, c.want)
			}
			if c.want == "" {
				return
			}
			asked := failed.Load()
			if _, again := f.Read(make([]byte, 1)); again != err || failed.Load() != asked {
				t.Errorf("read again: got %v after %d more requests", again, failed.Load()-asked)
			}
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			if _, again := f.Read(make([]byte, 1)); again == nil || failed.Load() == asked {
				t.Errorf("read behind a seek: got %v, expected another request", again)
			}
		})
	}
}

// A read that waits for the store ends with the context.
func TestContextEndsReads(t *testing.T) {
	web := s3server.New(t, "data")
	web.Put("a", "abc")
	asked := make(chan struct{})
	web.Answer = func(_ http.ResponseWriter, r *http.Request, _ string) bool {
		if r.Method != http.MethodGet {
			return false
		}
		close(asked)
		<-r.Context().Done()
		return true
	}
	b := s3Bucket(t, "data")
	v, err := Stat(t.Context(), b, "a")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	f := OpenFile(ctx, b, "a", v)
	defer f.Close()
	go func() {
		<-asked
		stop()
	}()
	if _, err := io.ReadAll(f); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestStat(t *testing.T) {
	web := s3server.New(t, "data")
	web.Put("dir/a", "abc")
	for _, c := range []struct{ bucket, key, want string }{
		{"data", "dir/a", ""},
		{"data", "dir/b", "the bucket has no such object: check the name"},
		{"data", "dir", "this is a folder, expected an object"},
		{"other", "dir/a", "the bucket does not exist: check its name and the region"},
	} {
		v, err := Stat(t.Context(), s3Bucket(t, c.bucket), c.key)
		if c.want == "" && (err != nil || v.Size != 3 || v.ETag == "" || v.Time.IsZero()) || c.want != "" && (!errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s of %s: got %v, %v", c.key, c.bucket, v, err)
		}
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "you")
	if _, err := Stat(t.Context(), s3Bucket(t, "data"), "dir/a"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("unsigned: %v", err)
	}
}

// Patterns find objects in one folder, across pages, and report folders.
func TestGlob(t *testing.T) {
	web := s3server.New(t, "data")
	for i := range 1100 {
		web.Put(fmt.Sprintf("train/part-%04d.csv", i), "x")
	}
	web.Put("train/deep/part-1.csv", "x")
	web.Put("train/part-dir/", "")
	web.Put("eval/part-1.csv", "x")
	b := s3Bucket(t, "data")
	for glob, want := range map[string]string{
		"train/part-*.csv":      "1100 train/part-0000.csv train/part-1099.csv",
		"train/part-000[12]*":   "2 train/part-0001.csv train/part-0002.csv",
		"train/none*":           "0",
		"train/part-0001.csv":   "1 train/part-0001.csv train/part-0001.csv",
		"*":                     "0 folders",
		"train/*":               "1100 train/part-0000.csv train/part-1099.csv folders",
		"train/part-[":          "syntax error in pattern",
		"train/part-dir/*":      "0",
		"train/part-di[r]":      "0 folders",
		"train/deep/part-[^2]*": "1 train/deep/part-1.csv train/deep/part-1.csv",
	} {
		keys, folders, err := Glob(t.Context(), b, glob)
		got := fmt.Sprint(len(keys))
		if len(keys) > 0 {
			got += " " + keys[0] + " " + keys[len(keys)-1]
		}
		if folders {
			got += " folders"
		}
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %s, expected %s", glob, got, want)
		}
	}
	if web.Pages() < 2 {
		t.Errorf("%d pages were read", web.Pages())
	}
	below, err := Below(t.Context(), b, "train/", func(key string) bool { return !strings.Contains(key, "0.") })
	if err != nil || len(below) != 991 || below[0] != "train/deep/part-1.csv" || below[990] != "train/part-1099.csv" {
		t.Errorf("below a folder: %d keys, %v", len(below), err)
	}
}

// An object is either complete or missing; a missing bucket is reported before anything is written.
func TestUpload(t *testing.T) {
	web := s3server.New(t, "data")
	text := strings.Repeat("0123456789", 1000)
	b := s3Bucket(t, "data")
	for range 2 { // the second replaces the first
		if err := Upload(t.Context(), b, "out/a.csv", strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := b.ReadAll(t.Context(), "out/a.csv"); err != nil || string(got) != text {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	if err := errors.Join(CheckBucket(t.Context(), b), Upload(t.Context(), b, "out/empty", strings.NewReader(""))); err != nil {
		t.Error(err)
	}
	other := s3Bucket(t, "other")
	for name, err := range map[string]error{"check": CheckBucket(t.Context(), other), "upload": Upload(t.Context(), other, "a", strings.NewReader("x"))} {
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "the bucket does not exist") {
			t.Errorf("%s: %v", name, err)
		}
	}
	calls := 0
	web.Answer = func(w http.ResponseWriter, r *http.Request, _ string) bool {
		if r.Method != http.MethodPut {
			return false
		}
		calls++
		if calls == 1 {
			w.WriteHeader(http.StatusBadRequest) // the driver does not repeat it
		}
		return calls == 1
	}
	if err := Upload(t.Context(), b, "out/b", strings.NewReader(text)); err != nil || calls != 2 {
		t.Errorf("%d calls, %v", calls, err)
	}
	if got, err := b.ReadAll(t.Context(), "out/b"); err != nil || string(got) != text {
		t.Errorf("after a repetition: %d bytes, %v", len(got), err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "you")
	if err := Upload(t.Context(), s3Bucket(t, "data"), "a", strings.NewReader("x")); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("unsigned: %v", err)
	}
}

// The error for a missing driver names the tag that adds it.
func TestShared(t *testing.T) {
	var s Shared
	a, err := s.Open(t.Context(), "mem://a")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.Open(t.Context(), "mem://a"); err != nil || again != a {
		t.Errorf("the bucket is opened again: %v", err)
	}
	if other, err := s.Open(t.Context(), "mem://b"); err != nil || other == a {
		t.Errorf("buckets are mixed up: %v", err)
	}
	if _, err := s.Open(t.Context(), "gs://a"); err == nil || !strings.Contains(err.Error(), "-tags gcs") {
		t.Errorf("got %v", err)
	}
}

func Example() {
	ctx := context.Background()
	b := memblob.OpenBucket(nil)
	defer b.Close()
	for _, key := range []string{"train/a.csv", "train/b.csv"} {
		if err := b.WriteAll(ctx, key, []byte("1,2\n"), nil); err != nil {
			fmt.Println(err)
		}
	}
	keys, _, err := Glob(ctx, b, "train/*.csv")
	fmt.Println(keys, err)
	v, err := Stat(ctx, b, keys[0])
	fmt.Println(v.Size, err)
	f := OpenFile(ctx, b, keys[0], v)
	defer f.Close()
	text, err := io.ReadAll(f)
	fmt.Printf("%q %v\n", text, err)
	// Output:
	// [train/a.csv train/b.csv] <nil>
	// 4 <nil>
	// "1,2\n" <nil>
}
