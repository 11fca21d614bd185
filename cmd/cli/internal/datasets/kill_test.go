//go:build linux

package datasets

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// helperEnv makes the test binary a process that downloads from a URL into a folder.
const helperEnv = "DATASETS_TEST_DOWNLOAD"

func TestMain(m *testing.M) {
	if url, dir, ok := strings.Cut(os.Getenv(helperEnv), ","); ok {
		if _, err := fast().Download(context.Background(), Dataset{Files: []File{fileAt(url)}}, dir); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A process that is killed while downloading leaves no file under the final name, and the next one resumes.
func TestKilledInTheMiddle(t *testing.T) {
	data, dir := content(), t.TempDir()
	s := serve(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n > 1 {
			whole(data)(n, w, r)
			return
		}
		w.Header().Set("Content-Length", "300000")
		w.Write(data[:100_000])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperEnv+"="+s.URL+","+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	part := filepath.Join(dir, "a.bin.part")
	for until := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if info, err := os.Stat(part); err == nil && info.Size() == 100_000 {
			break
		}
		if time.Now().After(until) {
			t.Fatal("nothing was downloaded")
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if _, err := os.Stat(filepath.Join(dir, "a.bin")); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("half a file has the name: %v", err)
	}
	if _, err := download(t, dir, fileAt(s.URL)); err != nil {
		t.Fatal(err)
	}
	requireFile(t, dir, "a.bin", data)
	if got := s.asked(); got != ",bytes=100000-" {
		t.Errorf("asked for %s", got)
	}
}

// A full disk ends the download without trying other mirrors; a later download resumes.
func TestFullDisk(t *testing.T) {
	data, dir := content(), t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=131072"); err != nil {
		t.Skipf("skipped: no small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	s, mirror := serve(t, whole(data)), serve(t, whole(data))
	_, err := download(t, dir, fileAt(s.URL, mirror.URL))
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "make room") || mirror.asked() != "" {
		t.Errorf("got %v, asked the mirror for %q", err, mirror.asked())
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=1048576"); err != nil {
		t.Fatal(err)
	}
	if _, err := download(t, dir, fileAt(s.URL)); err != nil {
		t.Fatal(err)
	}
	requireFile(t, dir, "a.bin", data)
	if got := s.asked(); got != ",bytes=131072-" {
		t.Errorf("asked for %q", got)
	}
}

// A full disk, without mounting a file system: no mirror is asked.
func TestFullDevice(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	s, mirror := serve(t, whole(content())), serve(t, whole(content()))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = fast().fetch(ctx, fileAt(s.URL, mirror.URL), &part{file: full, path: filepath.Join(t.TempDir(), "a.bin")})
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "make room") || mirror.asked() != "" {
		t.Errorf("got %v, asked the mirror for %q", err, mirror.asked())
	}
}
