import { z } from 'zod';

/** A response object as answered (OpenAI's `Response`); loose, as models read only some of it. */
export const responseSchema = z.looseObject({
  id: z.string().describe('resp_ and the job id.'),
  status: z.enum(['in_progress', 'completed', 'incomplete', 'failed']),
  output_text: z.string(),
  output: z.array(z.looseObject({})),
});
