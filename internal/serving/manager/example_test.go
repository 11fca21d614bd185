package manager_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goestimator/goestimator/internal/serving/manager"
	"github.com/goestimator/goestimator/internal/serving/servable"
)

// A base path with two versions: the newest is served.
func Example() {
	base, err := os.MkdirTemp("", "model")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(base)
	for _, version := range []string{"1", "2"} {
		if err := os.Mkdir(filepath.Join(base, version), 0o755); err != nil {
			fmt.Println(err)
			return
		}
	}
	loader := servable.LoaderFunc(func(_ context.Context, dir string) (servable.Model, error) { return &servable.Func{}, nil })

	m, err := manager.New(manager.Options{Loader: loader})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close(context.Background())
	if err := m.Reload(context.Background(), manager.Single(map[string]string{"m": base})); err != nil {
		fmt.Println(err)
		return
	}
	h, err := m.Acquire("m", servable.Version{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Release()
	fmt.Println(h.ID(), m.Status("m")[0].State == servable.Available)
	// Output: {name: m version: 2} true
}
