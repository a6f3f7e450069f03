import { z } from 'zod';
import { addIssues } from '../add-issues.ts';

/** The JSON types of the items of a Responses request. Other members are ignored. */

const textPart = z.object({ text: z.string() });

/** The supported parts by type. response-rules.ts refuses other types. */
const partSchemas = new Map<string, z.ZodType>([
  ['input_text', textPart],
  ['output_text', textPart],
  ['refusal', z.object({ refusal: z.string() })],
]);

const content = z
  .union(
    [z.string(), z.array(z.looseObject({ type: z.string() }))],
    'must be a string or an array of parts with a type',
  )
  .superRefine((value, context) => {
    if (typeof value === 'string') return;
    for (const [index, part] of value.entries())
      addIssues(context, { schema: partSchemas.get(part.type), value: part, path: [index] });
  });

export type ResponseContent = z.infer<typeof content>;

/** The supported items by type. */
export const responseItemSchemas = {
  message: z.object({ role: z.string(), content }),
  function_call: z.object({
    call_id: z.string().min(1),
    name: z.string().min(1),
    arguments: z.string(),
    /** An upstream's own data, returned as it came with the call. Other values are ignored. */
    extra_content: z.record(z.string(), z.json()).optional().catch(undefined),
  }),
  function_call_output: z.object({ call_id: z.string().min(1), output: content }),
  /** Replayed from earlier output; ignored. */
  reasoning: z.object({}),
  item_reference: z.object({ id: z.string() }),
};

type ResponseItemType = keyof typeof responseItemSchemas;

/** An item. It is loose because its form depends on its type. */
export const responseItem = z.looseObject({ type: z.string().nullish() });

export type ResponseItem = z.infer<typeof responseItem>;

/** Returns the type of an item. Messages and references may leave it out. */
export const responseItemType = (item: ResponseItem): string =>
  item.type ?? ('id' in item && !('role' in item) ? 'item_reference' : 'message');

export const isResponseItemType = (type: string): type is ResponseItemType =>
  Object.hasOwn(responseItemSchemas, type);
