import { existsSync } from 'fs';

/** Tells a checkout from an installed package or an image, whose build is final and which write only what they keep. */
export const hasSources = () => existsSync(new URL('../src', import.meta.url));
