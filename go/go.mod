module seriatim

go 1.19
