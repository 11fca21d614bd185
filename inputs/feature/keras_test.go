package feature

type goldenKeras struct{}
