/** The owner of the sandbox's own decodings, which are limited to a share like those of an account. */
export const sandboxHolder = 'sandbox';
