// Drives Redis with four clients and writes what they saw: go run record.go PORT > log.jsonl
package main

import (
	"fmt"
	"net/textproto"
	"os"
	"time"
)

var start = time.Now() // and what has passed since then: a clock that does not jump

func client(process int, output chan<- string) {
	connection, _ := textproto.Dial("tcp", "127.0.0.1:"+os.Args[1])
	for number := 0; number < 300; number++ {
		key, value, result := string("abc"[number%3]), fmt.Sprintf("%d-%d", process, number), "null"
		does := [2][2]string{{"SET " + key + " " + value, `"set","arg":"` + value + `"`}, {"GET " + key, `"get"`}}[(number+process)%2]
		late := time.AfterFunc(time.Second/2, func() { connection.Close() })
		entry := fmt.Sprintf(`{"process":%d,"op":%s,"key":%q,"call":%d`, process, does[1], key, start.Add(time.Since(start)).UnixNano())
		connection.PrintfLine("%s", does[0]) // the call was taken right before
		answer, err := connection.ReadLine()
		if err == nil && answer[0] == '$' && answer != "$-1" {
			answer, err = connection.ReadLine()
			result = fmt.Sprintf("%q", answer)
		}
		if err == nil && answer[0] != '-' { // the return is taken right after the answer came
			entry += fmt.Sprintf(`,"result":%s,"return":%d`, result, start.Add(time.Since(start)).UnixNano())
		} else { // sent, not answered: no return, nobody knows
			connection, _ = textproto.Dial("tcp", "127.0.0.1:"+os.Args[1])
		}
		late.Stop()
		output <- entry + "}"
	}
}

func main() {
	fmt.Println(`{"seriatim":1,"spec":"redis","unit":"ns","since":"unix"}`)
	output := make(chan string)
	for process := 0; process < 4; process++ {
		go client(process, output)
	}
	for line := 0; line < 4*300; line++ {
		fmt.Println(<-output)
	}
}
