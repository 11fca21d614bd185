package wire_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/distributed/wire"
)

func Example() {
	header := wire.Encode(&wire.WaitRequest{Id: &wire.SessionID{Session: 7}, Step: 100})
	var got wire.WaitRequest
	if err := wire.Decode(header, &got); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(got.Id.GetSession(), got.Step)
	// Output: 7 100
}
