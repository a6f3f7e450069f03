import type { JsonObject } from '../../kit/json.ts';
import type { OperationDocs } from '../operation-docs.ts';
import { chatJobId, completionExample } from '../chat/chat-examples.ts';
import { doneImage, failedImage, imageJobId } from '../images/image-examples.ts';

const createdAt = '2026-11-20T09:30:00.000Z';

const historyItem: JsonObject = {
  id: imageJobId,
  model: 'imagemodel-1.0',
  kind: 'image',
  status: 'done',
  created_at: createdAt,
  finished_at: '2026-11-20T09:30:06.412Z',
  duration_ms: 6412,
  billing_status: 'charged',
  charged_usd: '0.04',
  refunded_usd: '0.00',
  net_spent_usd: '0.04',
  currency: 'USD',
  error: null,
};
const nextCursor = 'eyJ2IjoxLCJwIjoiMjAyNi0xMS0yMFQwOTozMDowMC4wMDBaIn0';

export const getJobExamples: OperationDocs['examples'] = [
  { summary: 'A finished image', parameters: { job_id: imageJobId }, status: 200, answer: doneImage },
  { summary: 'A refused image', parameters: { job_id: imageJobId }, status: 200, answer: failedImage },
  {
    summary: 'A finished chat',
    parameters: { job_id: chatJobId },
    status: 200,
    answer: {
      ...doneImage,
      id: chatJobId,
      model: 'textmodel-3.5-flash',
      finished_at: '2026-11-20T09:30:01.250Z',
      custom_data: {},
      data: [],
      usage: { cost_usd: '0.0000525', balance_remaining_usd: '24.9599475' },
      response: completionExample,
    },
  },
];

export const listJobsExamples: OperationDocs['examples'] = [
  {
    summary: 'The newest jobs',
    parameters: { limit: 50 },
    status: 200,
    answer: { data: [historyItem], has_more: true, next_cursor: nextCursor },
  },
];
