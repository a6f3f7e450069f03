/** Returns the address of a file that scripts/sandbox-loops.ts made. */
export const loopUrl = (name: string): URL => new URL(`../loops/${name}`, import.meta.url);
