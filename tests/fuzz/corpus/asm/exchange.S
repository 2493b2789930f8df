.data
a: .space 64
.text
sync 4
.exchange 3, 0
.receive a, 4, 0, 2
.receive a+16, 1, 4, 1
.send a+32, 3, 3
.send a, 70, exch_delay(1,2)+9
.endexchange
.int exch_dir(0,1), physical(2), logical(1), pic_lag(3), exch_delay_min()
