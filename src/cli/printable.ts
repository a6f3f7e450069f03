/** What moves the cursor, colours, hides or turns round what a terminal shows. */
const control = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Text from outside on one line of a terminal, without control characters. */
export const printable = (text: string): string => text.replace(control, '');
