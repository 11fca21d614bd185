package kernels

//go:generate go -C gen run . -set gemm32 -pkg kernels -out ../gemm32_gen_amd64.s -stubs ../gemm32_gen_amd64.go
//go:generate go -C gen run . -set gemm64 -pkg kernels -out ../gemm64_gen_amd64.s -stubs ../gemm64_gen_amd64.go
//go:generate go -C gen run . -set vec32 -pkg kernels -out ../vec32_gen_amd64.s -stubs ../vec32_gen_amd64.go
//go:generate go -C gen run . -set vec64 -pkg kernels -out ../vec64_gen_amd64.s -stubs ../vec64_gen_amd64.go
//go:generate go -C gen run . -set random -pkg kernels -out ../random_gen_amd64.s -stubs ../random_gen_amd64.go
//go:generate go -C gen run . -set jpeg -pkg kernels -out ../jpeg_gen_amd64.s -stubs ../jpeg_gen_amd64.go
//go:generate go -C gen run . -set integers -pkg kernels -out ../integers_gen_amd64.s -stubs ../integers_gen_amd64.go
//go:generate go -C gen run . -set half -pkg kernels -out ../half_gen_amd64.s -stubs ../half_gen_amd64.go
