module seriatim/porcupine

go 1.19

require (
	github.com/anishathalye/porcupine v1.0.0
	seriatim v0.0.0
)

replace seriatim => ../
