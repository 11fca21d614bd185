package pieces

import "fmt"

func ExampleModel_Encode() {
	piece := func(text string, kind byte) []byte {
		return append([]byte{10, byte(len(text) + 4), 10, byte(len(text))}, append([]byte(text), 24, kind)...)
	}
	m, err := Parse(append(piece("<unk>", 2), append(piece("▁hi", 1), piece("!", 1)...)...))
	if err != nil {
		fmt.Println(err)
		return
	}
	tokens, err := m.Encode("hi!", Options{}, nil)
	fmt.Println(tokens, err)
	// Output: [{▁hi 1 0 2} {! 2 2 3}] <nil>
}
