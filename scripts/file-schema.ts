import { z } from 'zod';
import { fileSchema } from '../src/config/file-settings.ts';

/** Makes the JSON Schema of causeway.yaml for editors, in the draft that they know best. */
export const makeFileSchema = (): string => {
  const { $schema, ...schema } = z.toJSONSchema(fileSchema, {
    io: 'input',
    unrepresentable: 'any',
    target: 'draft-7',
  });
  return `${JSON.stringify({ $schema, title: 'causeway.yaml', ...schema }, null, 2)}\n`;
};
