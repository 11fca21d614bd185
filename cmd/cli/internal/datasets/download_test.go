package datasets

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fast is a Downloader with short waits.
func fast() Downloader {
	return Downloader{Client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, Wait: time.Millisecond, Stalled: 10 * time.Second}
}

// download downloads a file into a folder.
func download(t *testing.T, dir string, f File) ([]Done, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return fast().Download(ctx, Dataset{Name: "test", Files: []File{f}}, dir)
}

// requireFile fails unless the folder has exactly this file with this content.
func requireFile(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%s: %d bytes, %v", name, len(got), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}

func TestDownload(t *testing.T) {
	data := content()
	wrong := bytes.Clone(data)
	wrong[7]++
	for name, c := range map[string]struct {
		serve  func(n int, w http.ResponseWriter, r *http.Request)
		part   []byte // left by an earlier download
		ranges string // requested
		err    string // empty: the mirror is not used
	}{
		"whole":                         {serve: whole(data)},
		"goes on":                       {serve: whole(data), part: data[:1000], ranges: "bytes=1000-"},
		"nothing is missing but a name": {serve: whole(data), part: data, ranges: "-"},
		"breaks off, ranges":            {serve: func(n int, w http.ResponseWriter, r *http.Request) { broken(w, r, data, true, 100_000) }, ranges: ",bytes=100000-,bytes=200000-"},
		"breaks off once, no ranges": {serve: func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 1 {
				broken(w, r, data, false, 100_000)
			}
			w.Write(data)
		}, ranges: ",bytes=100000-"},
		"the part is of another file": {serve: whole(data), part: wrong[:1000], ranges: "bytes=1000-,"},
		"the part is too long":        {serve: whole(data), part: append(bytes.Clone(data), 1), ranges: ""},
		"a range that was not asked for": {serve: func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 1 {
				w.Header().Set("Content-Range", "bytes 0-299999/300000")
				w.WriteHeader(http.StatusPartialContent)
			}
			w.Write(data)
		}, part: data[:1000], ranges: "bytes=1000-,"},
		"no such range": {serve: func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 1 {
				w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
				return
			}
			w.Write(data)
		}, part: data[:1000], ranges: "bytes=1000-,"},
		"404":            {serve: func(_ int, w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }, err: "404"},
		"wrong checksum": {serve: whole(wrong), err: "wrong checksum: sha256"},
		"too long":       {serve: whole(append(bytes.Clone(data), 1)), err: "the server's file has 300001 bytes, expected 300000"},
		"longer than it says": {serve: func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush() // so the response has no length
			w.Write(append(bytes.Clone(data), 1))
		}, err: "wrong checksum: 300001 bytes"},
		"too short":              {serve: whole(data[:1000]), err: "the server's file has 1000 bytes, expected 300000"},
		"too short to go on":     {serve: whole(data[:1000]), part: data[:10], err: "the server's file has 1000 bytes, expected 300000"},
		"breaks off every time":  {serve: func(_ int, w http.ResponseWriter, r *http.Request) { broken(w, r, data, false, 1000) }, err: "EOF"},
		"a page instead of data": {serve: func(_ int, w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }, err: "the server's file has 6 bytes, expected 300000"},
	} {
		t.Run(name, func(t *testing.T) {
			s, mirror, dir := serve(t, c.serve), serve(t, whole(data)), filepath.Join(t.TempDir(), "new")
			if c.part != nil {
				if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "a.bin.part"), c.part, 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			if c.err != "" {
				alone := filepath.Join(t.TempDir(), "alone")
				if _, err := download(t, alone, fileAt(s.URL)); err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), s.URL) {
					t.Errorf("without a mirror: got %v, expected %s", err, c.err)
				}
				if _, err := os.Stat(filepath.Join(alone, "a.bin")); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("a file that is not whole has the name: %v", err)
				}
			}
			done, err := download(t, dir, fileAt(s.URL, mirror.URL))
			if err != nil || len(done) != 1 {
				t.Fatalf("got %v, %v", done, err)
			}
			requireFile(t, dir, "a.bin", data)
			if c.err == "" {
				if got := s.asked(); got != c.ranges && !(c.ranges == "-" && got == "") || mirror.asked() != "" {
					t.Errorf("asked for %q, and the mirror for %q; expected %q", got, mirror.asked(), c.ranges)
				}
			} else if !strings.HasPrefix(done[0].URL, mirror.URL) {
				t.Errorf("it comes from %s, expected the mirror %s", done[0].URL, mirror.URL)
			}
			if done, err := download(t, dir, fileAt("http://nobody.invalid")); err != nil || done[0].URL != "" {
				t.Errorf("a second time: %v, %v", done, err)
			}
		})
	}
}

// If a server has a different file, the part is kept, and the next server continues it.
func TestOtherFile(t *testing.T) {
	data := content()
	page := serve(t, func(_ int, w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") })
	other := serve(t, whole(append(bytes.Clone(data), 1)))
	mirror, dir := serve(t, whole(data)), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.bin.part"), data[:1000], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := download(t, dir, fileAt(page.URL, other.URL, mirror.URL)); err != nil || mirror.asked() != "bytes=1000-" {
		t.Errorf("the mirror was asked for %q: %v", mirror.asked(), err)
	}
	requireFile(t, dir, "a.bin", data)
}

// If something other than a file has the name, it is neither written nor waited for.
func TestNotAFile(t *testing.T) {
	s := serve(t, whole(content()))
	for _, name := range []string{"a.bin", "a.bin.part"} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := download(t, dir, fileAt(s.URL)); err == nil || !strings.Contains(err.Error(), name+" is ") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	dir, precious := t.TempDir(), filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(precious, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(precious, filepath.Join(dir, "a.bin.part")); err != nil {
		t.Skipf("no links here: %v", err)
	}
	if _, err := download(t, dir, fileAt(s.URL)); err == nil || !strings.Contains(err.Error(), "is not a file") {
		t.Errorf("a link: %v", err)
	}
	if text, err := os.ReadFile(precious); err != nil || string(text) != "precious" {
		t.Errorf("the file that a link leads to has %d bytes, %v", len(text), err)
	}
}

// A password in a mirror's URL is not shown.
func TestPassword(t *testing.T) {
	s := serve(t, whole(content()))
	secret := strings.Replace(s.URL, "http://", "http://user:secret@", 1)
	done, err := download(t, t.TempDir(), fileAt(secret))
	if err != nil || strings.Contains(done[0].URL, "secret") {
		t.Errorf("got %v, %v", done, err)
	}
	s.Close()
	if _, err := download(t, t.TempDir(), fileAt(secret)); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

// A server that sends nothing is abandoned.
func TestSilentServer(t *testing.T) {
	data, dir := content(), t.TempDir()
	s := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "300000")
		w.Write(data[:1000])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	d := fast()
	d.Stalled = 50 * time.Millisecond
	_, err := d.Download(t.Context(), Dataset{Files: []File{fileAt(s.URL)}}, dir)
	if err == nil || !strings.Contains(err.Error(), "nothing came for 50ms") {
		t.Errorf("got %v", err)
	}
}

func TestFileOfTheUsers(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.bin")
	if err := os.WriteFile(path, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := download(t, dir, fileAt(serve(t, whole(content())).URL)); !errors.Is(err, ErrChecksum) || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("got %v", err)
	}
	if got, err := os.ReadFile(path); string(got) != "mine" || err != nil {
		t.Errorf("the file has become %q, %v", got, err)
	}
}

// A second process does not download the same file.
func TestSecondProcess(t *testing.T) {
	dir := t.TempDir()
	p, err := openPart(filepath.Join(dir, "a.bin"))
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, whole(content()))
	if _, err := download(t, dir, fileAt(s.URL)); err == nil || !strings.Contains(err.Error(), "another process downloads it") {
		t.Errorf("got %v", err)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := download(t, dir, fileAt(s.URL)); err != nil {
		t.Error(err)
	}
}

func TestArchive(t *testing.T) {
	data := content()
	members := map[string][]byte{"one.bin": data[:100_000], "two.bin": data[100_000:]}
	packed := archive(t, members)
	f := File{Name: "all.tar.gz", Size: int64(len(packed)), SHA256: sumOf(packed), Members: []Member{
		{"one.bin", 100_000, sumOf(data[:100_000])}, {"two.bin", 200_000, sumOf(data[100_000:])},
	}}
	s := serve(t, whole(packed))
	f.URLs = []string{s.URL}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "two.bin.tmp-1-1"), []byte("of a process that was killed"), 0o644); err != nil {
		t.Fatal(err)
	}
	done, err := download(t, dir, f)
	if err != nil || len(done) != 2 {
		t.Fatalf("got %v, %v", done, err)
	}
	if err := os.Remove(filepath.Join(dir, "one.bin")); err != nil {
		t.Fatal(err)
	}
	requireFile(t, dir, "two.bin", data[100_000:]) // and no other file
	if done, err = download(t, dir, f); err != nil || len(done) != 2 {
		t.Fatalf("again: got %v, %v", done, err)
	}
	for change, want := range map[string]func(*File){
		"wrong checksum": func(f *File) { f.Members = []Member{{"one.bin", 100_000, sumOf(data)}} },
		"100001 bytes":   func(f *File) { f.Members = []Member{{"one.bin", 100_000 - 1, sumOf(data)}} },
		"does not have":  func(f *File) { f.Members = []Member{{"three.bin", 1, ""}} },
	} {
		other := f
		want(&other)
		fresh := t.TempDir()
		if _, err := download(t, fresh, other); err == nil || !strings.Contains(err.Error(), strings.Replace(change, "100001", "100000", 1)) {
			t.Errorf("%s: got %v", change, err)
		}
		if _, err := os.Stat(filepath.Join(fresh, "one.bin")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: a wrong file has the name: %v", change, err)
		}
	}
}

func TestCatalog(t *testing.T) {
	for _, d := range Catalog() {
		if d.Licence == "" || d.Cite == "" || d.Title == "" || d.Sums == "" || len(d.Files) == 0 {
			t.Errorf("%s: something is not stated: %+v", d.Name, d)
		}
		for _, f := range d.Files {
			if len(f.SHA256) != 64 || f.Size <= 0 || len(f.URLs) == 0 {
				t.Errorf("%s: %+v", d.Name, f)
			}
		}
	}
	d, err := Find("cifar10")
	if err != nil || !strings.Contains(d.Licence, "none") {
		t.Errorf("got %v, %v", d.Licence, err)
	}
	if err := d.Mirror([]string{"http://a/b/", "https://c"}); err != nil || d.Files[0].URLs[0] != "http://a/b/cifar-10-binary.tar.gz" || d.Files[0].URLs[1] != "https://c/cifar-10-binary.tar.gz" {
		t.Errorf("got %v, %v", d.Files[0].URLs, err)
	}
	if err := d.Mirror([]string{"ftp://x"}); err == nil {
		t.Error("expected an error of a mirror that is no HTTP server")
	}
	if _, err := Find("cifar"); err == nil {
		t.Error("expected an error")
	}
}
