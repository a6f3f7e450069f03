import { z } from 'zod';

/** An amount as people write it, as text or as a number, which becomes its text. */
export const amountText = z.union([z.string(), z.number()]).transform(String);
