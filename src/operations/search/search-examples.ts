import type { JsonObject } from '../../kit/json.ts';
import type { OperationDocs } from '../operation-docs.ts';

const lead: JsonObject = {
  username: 'harbour.roasters',
  full_name: 'Harbour Roasters',
  followers: 184_210,
  following: 312,
  is_verified: true,
  is_business: true,
  category: 'Food',
  bio: 'Small-batch coffee ☕\nLisbon',
  public_email: 'hello@harbour-roasters.example',
  media_count: 942,
  country: 'PT',
  city: 'Lisbon',
};

export const searchExamples: OperationDocs['examples'] = [
  {
    summary: 'Coffee in Portugal, paid',
    parameters: { query: 'coffee', country: 'PT', min_followers: 10_000, limit: 20 },
    status: 200,
    answer: { results: [lead], count: 1 },
  },
];
