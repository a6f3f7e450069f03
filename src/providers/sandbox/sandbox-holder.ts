/** As whom the sandbox decodes images: it has a share of the turns like an account, and leaves the others to checks. */
export const sandboxHolder = 'sandbox';
