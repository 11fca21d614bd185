package snippets_test

import (
	"fmt"

	"github.com/goestimator/goestimator/docs/snippets"
)

func ExampleBlocks() {
	blocks, err := snippets.Blocks("Look:\n```sh\ngoestimator version\n```\n")
	fmt.Println(blocks[0].Language, blocks[0].Line, err)
	// Output: sh 2 <nil>
}
