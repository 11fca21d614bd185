package layout_test

import (
	"fmt"

	"github.com/goestimator/goestimator/cmd/cli/internal/layout"
)

func Example() {
	l, err := layout.Find("master-ps-everywhere")
	if err != nil {
		fmt.Println(err)
		return
	}
	tasks, err := l.Place(layout.Options{Hosts: []string{"a", "b"}, Port: 2222})
	for _, t := range tasks {
		fmt.Println(t.Host, t.Task, t.Address)
	}
	fmt.Println(tasks[3].TFConfig, err)
	// Output:
	// a ps-0 a:2222
	// a master-0 a:2223
	// b ps-1 b:2222
	// b worker-0 b:2223
	// {"cluster":{"master":["a:2223"],"ps":["a:2222","b:2222"],"worker":["b:2223"]},"task":{"type":"worker","index":0},"environment":"cloud"} <nil>
}
