/** Characters that move the cursor, colour, hide or reverse the text of a terminal. */
const control = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Removes control characters, so that text from outside stays on one line of a terminal. */
export const sanitizeLine = (text: string): string => text.replace(control, '');
