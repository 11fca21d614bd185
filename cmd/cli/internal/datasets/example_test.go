package datasets_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/goestimator/goestimator/cmd/cli/internal/datasets"
)

func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "data") }))
	defer server.Close()
	dir, err := os.MkdirTemp("", "datasets")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	set := datasets.Dataset{Name: "mine", Files: []datasets.File{
		{Name: "a.bin", Size: 4, SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte("data"))), URLs: []string{server.URL + "/a.bin"}},
	}}
	d := datasets.Downloader{Client: server.Client()}
	for range 2 {
		done, err := d.Download(context.Background(), set, dir)
		fmt.Println(done[0].File, done[0].URL != "", err)
	}
	// Output:
	// a.bin true <nil>
	// a.bin false <nil>
}
