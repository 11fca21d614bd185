package budget_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/platform/budget"
)

// A request of 1000 bytes asks for a tensor of 64 MiB, which is above its limit of 32 MiB plus eight times
// its bytes.
func Example() {
	server := budget.NewServer(budget.Limits{Server: 1 << 30})
	defer server.Close()
	request := server.Open()
	request.Received(1000)
	err := request.Reserve(64 << 20)
	fmt.Println(err != nil, server.Used())
	if err := request.Reserve(4 << 20); err == nil {
		fmt.Println(server.Used() >> 20)
	}
	request.Close()
	fmt.Println(server.Used())
	// Output:
	// true 0
	// 4
	// 0
}
