/* Made from nan_scan.cu, which says how. */
#define GDX_NAN_PTX \
    "// kernel gdx_nan_scan 312\n" \
    ".version 6.4\n" \
    ".target sm_75\n" \
    ".address_size 64\n" \
    ".visible .entry gdx_nan_scan(\n" \
    ".param .align 8 .b8 gdx_nan_scan_param_0[312]\n" \
    ")\n" \
    "{\n" \
    ".reg .pred  %p<73>;\n" \
    ".reg .b16  %rs<16>;\n" \
    ".reg .b32  %r<127>;\n" \
    ".reg .b64  %rd<134>;\n" \
    "mov.b64  %rd36, gdx_nan_scan_param_0;\n" \
    "mov.u32  %r1, %ctaid.y;\n" \
    "mul.wide.u32  %rd37, %r1, 24;\n" \
    "add.s64  %rd38, %rd36, %rd37;\n" \
    "ld.param.u64  %rd39, [%rd38];\n" \
    "mov.u64  %rd125, 0;\n" \
    "cvta.to.global.u64  %rd2, %rd39;\n" \
    "ld.param.u64  %rd3, [%rd38+16];\n" \
    "mov.u32  %r7, %ntid.x;\n" \
    "cvt.u64.u32  %rd4, %r7;\n" \
    "mov.u32  %r8, %ctaid.x;\n" \
    "mul.wide.u32  %rd40, %r8, %r7;\n" \
    "mov.u32  %r2, %tid.x;\n" \
    "cvt.u64.u32  %rd41, %r2;\n" \
    "add.s64  %rd121, %rd40, %rd41;\n" \
    "ld.param.u64  %rd6, [%rd38+8];\n" \
    "setp.ge.u64  %p1, %rd121, %rd6;\n" \
    "mov.u64  %rd123, -1;\n" \
    "mov.u64  %rd124, %rd125;\n" \
    "mov.u64  %rd122, %rd123;\n" \
    "@%p1 bra  $L__BB0_17;\n" \
    "mov.u32  %r9, %nctaid.x;\n" \
    "cvt.u64.u32  %rd46, %r9;\n" \
    "mul.lo.s64  %rd7, %rd46, %rd4;\n" \
    "mov.u64  %rd124, 0;\n" \
    "mov.u64  %rd122, -1;\n" \
    "mov.u64  %rd123, %rd122;\n" \
    "mov.u64  %rd125, %rd124;\n" \
    "$L__BB0_2:\n" \
    "setp.eq.s64  %p2, %rd3, 102;\n" \
    "@%p2 bra  $L__BB0_12;\n" \
    "bra.uni  $L__BB0_3;\n" \
    "$L__BB0_12:\n" \
    "shl.b64  %rd54, %rd121, 2;\n" \
    "add.s64  %rd55, %rd2, %rd54;\n" \
    "ld.global.u32  %r19, [%rd55];\n" \
    "and.b32   %r20, %r19, 2139095040;\n" \
    "setp.eq.s32  %p16, %r20, 2139095040;\n" \
    "selp.u16  %rs14, 1, 0, %p16;\n" \
    "and.b32   %r21, %r19, 8388607;\n" \
    "setp.ne.s32  %p17, %r21, 0;\n" \
    "selp.u16  %rs15, 1, 0, %p17;\n" \
    "bra.uni  $L__BB0_13;\n" \
    "$L__BB0_3:\n" \
    "setp.eq.s64  %p3, %rd3, 100;\n" \
    "@%p3 bra  $L__BB0_11;\n" \
    "bra.uni  $L__BB0_4;\n" \
    "$L__BB0_11:\n" \
    "shl.b64  %rd49, %rd121, 3;\n" \
    "add.s64  %rd50, %rd2, %rd49;\n" \
    "ld.global.u64  %rd51, [%rd50];\n" \
    "and.b64   %rd52, %rd51, 9218868437227405312;\n" \
    "setp.eq.s64  %p14, %rd52, 9218868437227405312;\n" \
    "selp.u16  %rs14, 1, 0, %p14;\n" \
    "and.b64   %rd53, %rd51, 4503599627370495;\n" \
    "setp.ne.s64  %p15, %rd53, 0;\n" \
    "selp.u16  %rs15, 1, 0, %p15;\n" \
    "bra.uni  $L__BB0_13;\n" \
    "$L__BB0_4:\n" \
    "setp.eq.s64  %p4, %rd3, 104;\n" \
    "shl.b64  %rd47, %rd121, 1;\n" \
    "add.s64  %rd13, %rd2, %rd47;\n" \
    "@%p4 bra  $L__BB0_10;\n" \
    "bra.uni  $L__BB0_5;\n" \
    "$L__BB0_10:\n" \
    "ld.global.u16  %r16, [%rd13];\n" \
    "and.b32   %r17, %r16, 31744;\n" \
    "setp.eq.s32  %p12, %r17, 31744;\n" \
    "selp.u16  %rs14, 1, 0, %p12;\n" \
    "and.b32   %r18, %r16, 1023;\n" \
    "setp.ne.s32  %p13, %r18, 0;\n" \
    "selp.u16  %rs15, 1, 0, %p13;\n" \
    "bra.uni  $L__BB0_13;\n" \
    "$L__BB0_5:\n" \
    "setp.eq.s64  %p5, %rd3, 98;\n" \
    "@%p5 bra  $L__BB0_9;\n" \
    "bra.uni  $L__BB0_6;\n" \
    "$L__BB0_9:\n" \
    "ld.global.u16  %r13, [%rd13];\n" \
    "and.b32   %r14, %r13, 32640;\n" \
    "setp.eq.s32  %p10, %r14, 32640;\n" \
    "selp.u16  %rs14, 1, 0, %p10;\n" \
    "and.b32   %r15, %r13, 127;\n" \
    "setp.ne.s32  %p11, %r15, 0;\n" \
    "selp.u16  %rs15, 1, 0, %p11;\n" \
    "bra.uni  $L__BB0_13;\n" \
    "$L__BB0_6:\n" \
    "setp.eq.s64  %p6, %rd3, 53;\n" \
    "add.s64  %rd48, %rd2, %rd121;\n" \
    "ld.global.u8  %r3, [%rd48];\n" \
    "@%p6 bra  $L__BB0_8;\n" \
    "bra.uni  $L__BB0_7;\n" \
    "$L__BB0_8:\n" \
    "and.b32   %r11, %r3, 124;\n" \
    "setp.eq.s32  %p8, %r11, 124;\n" \
    "selp.u16  %rs14, 1, 0, %p8;\n" \
    "and.b32   %r12, %r3, 3;\n" \
    "setp.ne.s32  %p9, %r12, 0;\n" \
    "selp.u16  %rs15, 1, 0, %p9;\n" \
    "bra.uni  $L__BB0_13;\n" \
    "$L__BB0_7:\n" \
    "and.b32   %r10, %r3, 127;\n" \
    "setp.eq.s32  %p7, %r10, 127;\n" \
    "selp.u16  %rs14, 1, 0, %p7;\n" \
    "mov.u16  %rs15, %rs14;\n" \
    "$L__BB0_13:\n" \
    "setp.ne.s16  %p18, %rs15, 0;\n" \
    "setp.ne.s16  %p19, %rs14, 0;\n" \
    "and.pred   %p20, %p19, %p18;\n" \
    "@%p20 bra  $L__BB0_15;\n" \
    "bra.uni  $L__BB0_14;\n" \
    "$L__BB0_15:\n" \
    "add.s64  %rd124, %rd124, 1;\n" \
    "min.u64  %rd122, %rd121, %rd122;\n" \
    "bra.uni  $L__BB0_16;\n" \
    "$L__BB0_14:\n" \
    "cvt.u64.u16  %rd56, %rs14;\n" \
    "add.s64  %rd125, %rd125, %rd56;\n" \
    "setp.lt.u64  %p22, %rd121, %rd123;\n" \
    "and.pred   %p23, %p22, %p19;\n" \
    "selp.b64  %rd123, %rd121, %rd123, %p23;\n" \
    "$L__BB0_16:\n" \
    "add.s64  %rd121, %rd121, %rd7;\n" \
    "setp.lt.u64  %p24, %rd121, %rd6;\n" \
    "@%p24 bra  $L__BB0_2;\n" \
    "$L__BB0_17:\n" \
    "mov.b64 {%r22,%r23}, %rd125;\n" \
    "mov.u32  %r62, 2;\n" \
    "mov.u32  %r63, 31;\n" \
    "mov.u32  %r64, 16;\n" \
    "mov.u32  %r65, -1;\n" \
    "shfl.sync.down.b32  %r25|%p25, %r23, %r64, %r63, %r65;\n" \
    "shfl.sync.down.b32  %r24|%p26, %r22, %r64, %r63, %r65;\n" \
    "mov.b64 %rd58, {%r24,%r25};\n" \
    "add.s64  %rd61, %rd58, %rd125;\n" \
    "mov.b64 {%r26,%r27}, %rd123;\n" \
    "shfl.sync.down.b32  %r29|%p27, %r27, %r64, %r63, %r65;\n" \
    "shfl.sync.down.b32  %r28|%p28, %r26, %r64, %r63, %r65;\n" \
    "mov.b64 %rd60, {%r28,%r29};\n" \
    "min.u64  %rd63, %rd60, %rd123;\n" \
    "mov.b64 {%r30,%r31}, %rd61;\n" \
    "mov.u32  %r66, 8;\n" \
    "shfl.sync.down.b32  %r33|%p29, %r31, %r66, %r63, %r65;\n" \
    "shfl.sync.down.b32  %r32|%p30, %r30, %r66, %r63, %r65;\n" \
    "mov.b64 %rd62, {%r32,%r33};\n" \
    "add.s64  %rd65, %rd62, %rd61;\n" \
    "mov.b64 {%r34,%r35}, %rd63;\n" \
    "shfl.sync.down.b32  %r37|%p31, %r35, %r66, %r63, %r65;\n" \
    "shfl.sync.down.b32  %r36|%p32, %r34, %r66, %r63, %r65;\n" \
    "mov.b64 %rd64, {%r36,%r37};\n" \
    "min.u64  %rd67, %rd64, %rd63;\n" \
    "mov.b64 {%r38,%r39}, %rd65;\n" \
    "mov.u32  %r67, 4;\n" \
    "shfl.sync.down.b32  %r41|%p33, %r39, %r67, %r63, %r65;\n" \
    "shfl.sync.down.b32  %r40|%p34, %r38, %r67, %r63, %r65;\n" \
    "mov.b64 %rd66, {%r40,%r41};\n" \
    "add.s64  %rd69, %rd66, %rd65;\n" \
    "mov.b64 {%r42,%r43}, %rd67;\n" \
    "shfl.sync.down.b32  %r45|%p35, %r43, %r67, %r63, %r65;\n" \
    "shfl.sync.down.b32  %r44|%p36, %r42, %r67, %r63, %r65;\n" \
    "mov.b64 %rd68, {%r44,%r45};\n" \
    "min.u64  %rd71, %rd68, %rd67;\n" \
    "mov.b64 {%r46,%r47}, %rd69;\n" \
    "shfl.sync.down.b32  %r49|%p37, %r47, %r62, %r63, %r65;\n" \
    "shfl.sync.down.b32  %r48|%p38, %r46, %r62, %r63, %r65;\n" \
    "mov.b64 %rd70, {%r48,%r49};\n" \
    "add.s64  %rd73, %rd70, %rd69;\n" \
    "mov.b64 {%r50,%r51}, %rd71;\n" \
    "shfl.sync.down.b32  %r53|%p39, %r51, %r62, %r63, %r65;\n" \
    "shfl.sync.down.b32  %r52|%p40, %r50, %r62, %r63, %r65;\n" \
    "mov.b64 %rd72, {%r52,%r53};\n" \
    "min.u64  %rd75, %rd72, %rd71;\n" \
    "mov.b64 {%r54,%r55}, %rd73;\n" \
    "mov.u32  %r68, 1;\n" \
    "shfl.sync.down.b32  %r57|%p41, %r55, %r68, %r63, %r65;\n" \
    "shfl.sync.down.b32  %r56|%p42, %r54, %r68, %r63, %r65;\n" \
    "mov.b64 %rd74, {%r56,%r57};\n" \
    "add.s64  %rd27, %rd74, %rd73;\n" \
    "mov.b64 {%r58,%r59}, %rd75;\n" \
    "shfl.sync.down.b32  %r61|%p43, %r59, %r68, %r63, %r65;\n" \
    "shfl.sync.down.b32  %r60|%p44, %r58, %r68, %r63, %r65;\n" \
    "mov.b64 %rd76, {%r60,%r61};\n" \
    "min.u64  %rd28, %rd76, %rd75;\n" \
    "and.b32   %r4, %r2, 31;\n" \
    "setp.ne.s32  %p45, %r4, 0;\n" \
    "setp.eq.s64  %p46, %rd27, 0;\n" \
    "or.pred   %p47, %p45, %p46;\n" \
    "add.s64  %rd29, %rd36, 288;\n" \
    "@%p47 bra  $L__BB0_20;\n" \
    "ld.param.u64  %rd77, [%rd29];\n" \
    "cvta.to.global.u64  %rd78, %rd77;\n" \
    "ld.param.u32  %r69, [%rd29+16];\n" \
    "shl.b32  %r5, %r1, 1;\n" \
    "add.s32  %r70, %r69, %r5;\n" \
    "shl.b32  %r71, %r70, 1;\n" \
    "mul.wide.u32  %rd79, %r71, 8;\n" \
    "add.s64  %rd80, %rd78, %rd79;\n" \
    "atom.global.sys.add.u64  %rd81, [%rd80], %rd27;\n" \
    "setp.eq.s32  %p48, %r69, 0;\n" \
    "@%p48 bra  $L__BB0_20;\n" \
    "ld.param.u64  %rd82, [%rd29];\n" \
    "cvta.to.global.u64  %rd83, %rd82;\n" \
    "add.s32  %r72, %r5, 48;\n" \
    "mul.wide.u32  %rd84, %r72, 8;\n" \
    "add.s64  %rd85, %rd83, %rd84;\n" \
    "atom.global.sys.min.u64  %rd86, [%rd85], %rd28;\n" \
    "ld.param.u64  %rd87, [%rd29+8];\n" \
    "cvta.to.global.u64  %rd88, %rd87;\n" \
    "mov.u32  %r73, 1;\n" \
    "st.volatile.global.u32  [%rd88], %r73;\n" \
    "$L__BB0_20:\n" \
    "mov.b64 {%r74,%r75}, %rd124;\n" \
    "shfl.sync.down.b32  %r77|%p50, %r75, %r64, %r63, %r65;\n" \
    "shfl.sync.down.b32  %r76|%p51, %r74, %r64, %r63, %r65;\n" \
    "mov.b64 %rd90, {%r76,%r77};\n" \
    "add.s64  %rd93, %rd90, %rd124;\n" \
    "mov.b64 {%r78,%r79}, %rd122;\n" \
    "shfl.sync.down.b32  %r81|%p52, %r79, %r64, %r63, %r65;\n" \
    "shfl.sync.down.b32  %r80|%p53, %r78, %r64, %r63, %r65;\n" \
    "mov.b64 %rd92, {%r80,%r81};\n" \
    "min.u64  %rd95, %rd92, %rd122;\n" \
    "mov.b64 {%r82,%r83}, %rd93;\n" \
    "shfl.sync.down.b32  %r85|%p54, %r83, %r66, %r63, %r65;\n" \
    "shfl.sync.down.b32  %r84|%p55, %r82, %r66, %r63, %r65;\n" \
    "mov.b64 %rd94, {%r84,%r85};\n" \
    "add.s64  %rd97, %rd94, %rd93;\n" \
    "mov.b64 {%r86,%r87}, %rd95;\n" \
    "shfl.sync.down.b32  %r89|%p56, %r87, %r66, %r63, %r65;\n" \
    "shfl.sync.down.b32  %r88|%p57, %r86, %r66, %r63, %r65;\n" \
    "mov.b64 %rd96, {%r88,%r89};\n" \
    "min.u64  %rd99, %rd96, %rd95;\n" \
    "mov.b64 {%r90,%r91}, %rd97;\n" \
    "shfl.sync.down.b32  %r93|%p58, %r91, %r67, %r63, %r65;\n" \
    "shfl.sync.down.b32  %r92|%p59, %r90, %r67, %r63, %r65;\n" \
    "mov.b64 %rd98, {%r92,%r93};\n" \
    "add.s64  %rd101, %rd98, %rd97;\n" \
    "mov.b64 {%r94,%r95}, %rd99;\n" \
    "shfl.sync.down.b32  %r97|%p60, %r95, %r67, %r63, %r65;\n" \
    "shfl.sync.down.b32  %r96|%p61, %r94, %r67, %r63, %r65;\n" \
    "mov.b64 %rd100, {%r96,%r97};\n" \
    "min.u64  %rd103, %rd100, %rd99;\n" \
    "mov.b64 {%r98,%r99}, %rd101;\n" \
    "shfl.sync.down.b32  %r101|%p62, %r99, %r62, %r63, %r65;\n" \
    "shfl.sync.down.b32  %r100|%p63, %r98, %r62, %r63, %r65;\n" \
    "mov.b64 %rd102, {%r100,%r101};\n" \
    "add.s64  %rd105, %rd102, %rd101;\n" \
    "mov.b64 {%r102,%r103}, %rd103;\n" \
    "shfl.sync.down.b32  %r105|%p64, %r103, %r62, %r63, %r65;\n" \
    "shfl.sync.down.b32  %r104|%p65, %r102, %r62, %r63, %r65;\n" \
    "mov.b64 %rd104, {%r104,%r105};\n" \
    "min.u64  %rd107, %rd104, %rd103;\n" \
    "mov.b64 {%r106,%r107}, %rd105;\n" \
    "shfl.sync.down.b32  %r109|%p66, %r107, %r68, %r63, %r65;\n" \
    "shfl.sync.down.b32  %r108|%p67, %r106, %r68, %r63, %r65;\n" \
    "mov.b64 %rd106, {%r108,%r109};\n" \
    "add.s64  %rd30, %rd106, %rd105;\n" \
    "mov.b64 {%r110,%r111}, %rd107;\n" \
    "shfl.sync.down.b32  %r113|%p68, %r111, %r68, %r63, %r65;\n" \
    "shfl.sync.down.b32  %r112|%p69, %r110, %r68, %r63, %r65;\n" \
    "mov.b64 %rd108, {%r112,%r113};\n" \
    "min.u64  %rd31, %rd108, %rd107;\n" \
    "setp.eq.s64  %p70, %rd30, 0;\n" \
    "or.pred   %p71, %p45, %p70;\n" \
    "@%p71 bra  $L__BB0_23;\n" \
    "ld.param.u64  %rd109, [%rd29];\n" \
    "cvta.to.global.u64  %rd110, %rd109;\n" \
    "ld.param.u32  %r121, [%rd29+16];\n" \
    "shl.b32  %r6, %r1, 1;\n" \
    "add.s32  %r122, %r121, %r6;\n" \
    "shl.b32  %r123, %r122, 1;\n" \
    "or.b32   %r124, %r123, 1;\n" \
    "mul.wide.u32  %rd111, %r124, 8;\n" \
    "add.s64  %rd112, %rd110, %rd111;\n" \
    "atom.global.sys.add.u64  %rd113, [%rd112], %rd30;\n" \
    "setp.eq.s32  %p72, %r121, 0;\n" \
    "@%p72 bra  $L__BB0_23;\n" \
    "ld.param.u64  %rd114, [%rd29];\n" \
    "cvta.to.global.u64  %rd115, %rd114;\n" \
    "add.s32  %r125, %r6, 49;\n" \
    "mul.wide.u32  %rd116, %r125, 8;\n" \
    "add.s64  %rd117, %rd115, %rd116;\n" \
    "atom.global.sys.min.u64  %rd118, [%rd117], %rd31;\n" \
    "ld.param.u64  %rd119, [%rd29+8];\n" \
    "cvta.to.global.u64  %rd120, %rd119;\n" \
    "mov.u32  %r126, 1;\n" \
    "st.volatile.global.u32  [%rd120], %r126;\n" \
    "$L__BB0_23:\n" \
    "ret;\n" \
    "}\n" \
    ""
