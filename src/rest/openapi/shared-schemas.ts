import { reference } from './schema-registry.ts';

const text = { type: 'string' };

export const errorSchema = {
  type: 'object',
  description: 'The body of every refusal.',
  required: ['error'],
  properties: { error: reference('ErrorEnvelope') },
};

/** The body of a 422 that lists every wrong field. */
export const validationErrorsSchema = {
  type: 'object',
  description: 'Every wrong field of a request.',
  required: ['detail'],
  properties: {
    detail: {
      type: 'array',
      items: {
        type: 'object',
        required: ['loc', 'msg', 'type'],
        properties: {
          loc: {
            type: 'array',
            items: { type: ['string', 'integer'] },
            description:
              'The way to the field, beginning with query, body, path or header; indices of arrays are integers.',
          },
          msg: text,
          type: text,
        },
      },
    },
  },
};
